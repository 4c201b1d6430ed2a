# docker build --tag goldpan . && docker run --rm --user "$(id -u)" --volume "$PWD:/work" goldpan demo
FROM python:3.13-slim AS base
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git \
    && rm -rf /var/lib/apt/lists/*
ENV PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
COPY requirements/demo.txt /tmp/
RUN pip install --no-deps --require-hashes --requirement /tmp/demo.txt

FROM base AS build
COPY . /src
RUN pip wheel --no-deps --no-build-isolation --wheel-dir /wheels /src

FROM base
COPY --from=build /wheels /wheels
RUN pip install --no-deps /wheels/*.whl
ENV HOME=/tmp
WORKDIR /work
ENTRYPOINT ["goldpan"]
