# komadori on the CPU: docker build -t komadori . && docker run --rm -it komadori doctor
# A USI engine: docker run --rm -i komadori usi
# The browser: docker run --rm -p 127.0.0.1:8080:8080 komadori web --lan --no-browser --port 8080
# Own files: add -v "$PWD":/data
FROM python:3.11-slim-bookworm AS build
RUN apt-get update && apt-get install -y --no-install-recommends g++ make && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir "pip>=25.3" \
    && pip wheel --no-cache-dir --no-deps --build-constraint constraints.txt -w /wheels .

FROM python:3.11-slim-bookworm
# torch without CUDA, from its own index (its dependencies are on PyPI); the rest of the training extra
# comes with the package.
COPY --from=build /src/constraints.txt /wheels/
RUN pip install --no-cache-dir -c /wheels/constraints.txt torch==2.13.0+cpu \
    --extra-index-url https://download.pytorch.org/whl/cpu
COPY --from=build /wheels /wheels
RUN pip install --no-cache-dir -c /wheels/constraints.txt "$(ls /wheels/komadori-*.whl)[train,web]" && rm -r /wheels \
    && useradd --create-home komadori && mkdir /data && chown komadori /data
USER komadori
WORKDIR /data
ENTRYPOINT ["komadori"]
CMD ["--help"]
