# The service. Envoy comes from its official image; charts/weir puts the two into one pod.
#
#   docker build -t weir:0.1.0 .
#
# The service is not compiled: Node runs the sources as they are. The pages of the portal are built in a stage of their own. Pin the base by digest where builds must be repeatable; this
# prints the digest of the tag below:
#
#   docker buildx imagetools inspect node:26.10.0-trixie-slim --format '{{.Manifest.Digest}}'
#   docker build --build-arg NODE_IMAGE=node:26.10.0-trixie-slim@sha256:… -t weir:0.1.0 .

# The Node that package-lock.json names, which every test has run on.
ARG NODE_IMAGE=node:26.10.0-trixie-slim

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# No script of any package runs. The optional packages are a second Node.
# Type files and source maps are for editors and debuggers: two fifths of the packages, and no program reads them.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && find node_modules -type f \( -name '*.d.ts' -o -name '*.d.cts' -o -name '*.d.mts' -o -name '*.map' \) -delete

FROM ${NODE_IMAGE} AS pages
WORKDIR /app
COPY tsconfig.json ./
COPY portal/package.json portal/package-lock.json portal/.npmrc ./portal/
RUN npm ci --prefix portal --omit=dev --ignore-scripts
COPY portal ./portal
# The portal shows pages of it.
COPY docs ./docs
RUN npm run build --prefix portal

FROM ${NODE_IMAGE}
# Tools of a build would only help an intruder. bin/weir.mjs stays out, too: it installs packages before it starts.
RUN rm -rf /usr/local/lib/node_modules /usr/local/bin/npm /usr/local/bin/npx /usr/local/bin/corepack /opt/yarn* \
  && printf '#!/bin/sh\nexec node /app/src/main.ts "$@"\n' > /usr/local/bin/weir && chmod 0755 /usr/local/bin/weir \
  && ln -s weir /usr/local/bin/kubectl-weir
WORKDIR /app
COPY --from=dependencies /app/node_modules ./node_modules
COPY package.json LICENSE ./
COPY src ./src
COPY protos ./protos
COPY --from=pages /app/portal/dist ./portal/dist
# `demo.enabled` of the chart runs it from this image.
COPY examples/demo-engine ./examples/demo-engine
# Everything above belongs to root and is never written. These two are: what must outlive the process, and what must not.
ENV NODE_ENV=production WEIR_DATA=/var/lib/weir WEIR_RUN=/run/weir
RUN mkdir -p /var/lib/weir /run/weir && chown 65532:65532 /var/lib/weir /run/weir && chmod 0700 /var/lib/weir /run/weir
VOLUME ["/var/lib/weir", "/run/weir"]
USER 65532:65532
ENTRYPOINT ["node", "/app/src/main.ts"]
CMD ["serve"]
