# JupyterLab with the course, on a CPU:  docker build -t course . && docker run -p 8888:8888 course
FROM python:3.12-slim
RUN apt-get update && apt-get install --yes --no-install-recommends make git && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home reader
USER reader
WORKDIR /home/reader/course
COPY --chown=reader . .
RUN make .venv/.installed
ENV PATH=/home/reader/course/.venv/bin:$PATH OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
EXPOSE 8888
CMD ["course", "lab", "--ip=0.0.0.0", "--no-browser"]
