import subprocess, sys
sys.exit(subprocess.call(sys.argv[1:]))
