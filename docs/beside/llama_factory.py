from llamafactory.train.tuner import run_exp

from course_utils.diagnostics import DiagnoseCallback

if __name__ == "__main__":
    run_exp(callbacks=[DiagnoseCallback()])
