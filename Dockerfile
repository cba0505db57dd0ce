# komadori on the CPU: docker build -t komadori . && docker run --rm -it komadori doctor
# A USI engine: docker run --rm -i komadori usi
# The browser: docker run --rm -p 127.0.0.1:8080:8080 komadori web --lan --no-browser --port 8080
# Own files: add -v "$PWD":/data
FROM python:3.13-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip wheel --no-cache-dir --no-deps -w /wheels .

FROM python:3.13-slim-bookworm
# torch without CUDA; the rest of the training extra comes with the package.
RUN pip install --no-cache-dir torch --index-url https://download.pytorch.org/whl/cpu
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir "$(ls /wheels/komadori-*.whl)[train,web]" && rm -r /wheels \
    && useradd --create-home komadori && mkdir /data && chown komadori /data
USER komadori
WORKDIR /data
ENTRYPOINT ["komadori"]
CMD ["--help"]
