# docker build --tag goldpan . && docker run --rm --user "$(id -u)" --volume "$PWD:/work" goldpan demo
FROM python:3.13-slim

RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*

COPY . /src
RUN pip install --no-cache-dir /src && rm -rf /src

ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["goldpan"]
