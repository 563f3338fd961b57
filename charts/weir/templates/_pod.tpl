{{- define "weir.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{/* The variable of a store's URL, from the Secret of the operator or of the release. */}}
{{- define "weir.urlVariable" -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      {{- with .store.existingSecret.name }}
      name: {{ . }}
      key: {{ $.store.existingSecret.key }}
      {{- else }}
      name: {{ .release }}-urls
      key: {{ .key }}
      {{- end }}
{{- end -}}

{{/*
The pod: the configuration of Envoy is written, Envoy starts, the service starts. Envoy is a sidecar that starts before the
service and gets its signal once the service has ended, so that no answer is cut by its own messenger.
*/}}
{{- define "weir.pod" -}}
{{- $image := include "weir.image" (dict "image" .Values.image "appVersion" .Chart.AppVersion) -}}
{{- $tls := include "weir.tlsSecret" . -}}
{{- /* Streams that come past the pod's own Envoy are the service's to finish. */}}
{{- $serviceDrainSeconds := ternary (int .Values.drain.longestStreamSeconds) 30 .Values.envoyGateway.enabled -}}
metadata:
  labels:
    {{- include "weir.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    kubectl.kubernetes.io/default-container: service
    {{- if or .Values.database.url .Values.valkey.url }}
    checksum/urls: {{ printf "%s %s" .Values.database.url .Values.valkey.url | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "weir.serviceAccount" . }}
  # Only the service gets a token, from a volume below.
  automountServiceAccountToken: false
  # A Service called "weir" would put WEIR_PORT and the like into the environment, which are no settings.
  enableServiceLinks: false
  {{- with .Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  # The hook of the service below, the service's own end, and a little.
  terminationGracePeriodSeconds: {{ add .Values.drain.holdSeconds .Values.drain.longestStreamSeconds $serviceDrainSeconds 15 }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- $ours := dict "labelSelector" (dict "matchLabels" (include "weir.selector" . | fromYaml)) }}
    {{- range .Values.topologySpreadConstraints }}
    - {{- toYaml (merge (deepCopy .) $ours) | nindent 6 }}
    {{- end }}
  {{- else if include "weir.isMany" . }}
  topologySpreadConstraints:
    {{- range list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
    - maxSkew: 1
      topologyKey: {{ . }}
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "weir.selector" $ | nindent 10 }}
    {{- end }}
  {{- end }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  initContainers:
    {{- with .Values.tokenizers.initContainer }}
    - name: tokenizers
      {{- toYaml . | nindent 6 }}
      securityContext:
        {{- include "weir.containerSecurity" $ | nindent 8 }}
      volumeMounts:
        - {name: tokenizers, mountPath: /tokenizers}
        - {name: tmp, mountPath: /tmp}
    {{- end }}
    - name: bootstrap
      image: {{ $image }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      command: [node, /app/src/main.ts]
      args:
        - envoy
        - bootstrap
        - --port=8080
        - --ops-port=9092
        {{- if .Values.envoyGateway.enabled }}
        - --ext-proc-port=9093
        {{- end }}
        - '--address={{ .Values.edge.listenAddress }}'
        - --memory=$(ENVOY_MEMORY)
      env:
        - {name: WEIR_RUN, value: /run/weir}
        {{- if .Values.responses.enabled }}
        - {name: WEIR_RESPONSES, value: stateless}
        {{- end }}
        {{- with .Values.furtherPaths }}{{ if .enabled }}
        - {name: WEIR_FURTHER_PATHS, value: {{ ternary "with-balance" "on" .balance | quote }}}
        {{- end }}{{ end }}
        - {name: WEIR_TRUSTED_HOPS, value: {{ .Values.edge.trustedHops | quote }}}
        {{- with .Values.identities.trustedHeader }}
        - {name: WEIR_TRUSTED_IDENTITY_HEADER, value: {{ . | quote }}}
        {{- end }}
        - {name: WEIR_CONNECTIONS_PER_ADDRESS, value: {{ .Values.edge.connectionsPerAddress | int | quote }}}
        - {name: WEIR_UNAUTHENTICATED_IDLE_SECONDS, value: {{ .Values.edge.unauthenticatedIdleSeconds | quote }}}
        {{- if $tls }}
        - {name: WEIR_TLS_CERTIFICATE_FILE, value: /etc/weir/tls/tls.crt}
        - {name: WEIR_TLS_KEY_FILE, value: /etc/weir/tls/tls.key}
        {{- end }}
        {{- range .Values.extraEnv }}{{ if hasPrefix "OTEL_" .name }}
        {{- toYaml (list .) | nindent 8 }}
        {{- end }}{{ end }}
        - name: ENVOY_MEMORY
          valueFrom:
            resourceFieldRef: {containerName: envoy, resource: limits.memory}
      securityContext:
        {{- include "weir.containerSecurity" . | nindent 8 }}
      resources:
        requests: {cpu: 50m, memory: 64Mi}
        limits: {memory: 256Mi}
      volumeMounts:
        - {name: run, mountPath: /run/weir}
        {{- if $tls }}
        - {name: tls, mountPath: /etc/weir/tls, readOnly: true}
        {{- end }}
    - name: envoy
      image: {{ include "weir.image" (dict "image" .Values.envoy.image "appVersion" "") }}
      imagePullPolicy: {{ .Values.envoy.image.pullPolicy }}
      # Makes it a sidecar.
      restartPolicy: Always
      command: [/usr/local/bin/envoy]
      args:
        - --config-path
        - /run/weir/bootstrap.json
        - --disable-hot-restart
        - --log-level
        - {{ .Values.envoy.logLevel }}
        - --drain-strategy
        - immediate
        - --concurrency
        - {{ .Values.envoy.concurrency | quote }}
      ports:
        - {name: edge, containerPort: 8080}
        - {name: envoy-ops, containerPort: 9092}
        {{- if .Values.envoyGateway.enabled }}
        - {name: ext-proc, containerPort: 9093}
        {{- end }}
      startupProbe:
        httpGet: {path: /readyz, port: envoy-ops}
        periodSeconds: 1
        failureThreshold: 60
      # Ended after 20 s without an answer, like the service below.
      livenessProbe:
        httpGet: {path: /livez, port: envoy-ops}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 4
        terminationGracePeriodSeconds: 10
      readinessProbe:
        httpGet: {path: /readyz, port: envoy-ops}
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 1
      securityContext:
        {{- include "weir.containerSecurity" . | nindent 8 }}
      {{- with .Values.envoy.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: run, mountPath: /run/weir}
        {{- if $tls }}
        - {name: tls, mountPath: /etc/weir/tls, readOnly: true}
        {{- end }}
        {{- with .Values.envoy.caBundle.configMap }}
        - {name: ca-bundle, mountPath: /etc/ssl/certs, readOnly: true}
        {{- end }}
  containers:
    - name: service
      image: {{ $image }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      # Why these: src/programs/local/launch-service.ts.
      command: [node, --min-semi-space-size=16, --no-memory-reducer, --v8-pool-size=2, /app/src/main.ts]
      args: [serve]
      env:
        - {name: WEIR_RUN, value: /run/weir}
        - {name: WEIR_DATA, value: /var/lib/weir}
        {{- if include "weir.hasDatabase" . }}
        {{- include "weir.urlVariable" (dict "variable" "WEIR_DATABASE_URL" "store" .Values.database "key" "database" "release" (include "weir.name" .)) | nindent 8 }}
        {{- else }}
        - {name: WEIR_DATABASE_URL, value: 'sqlite:/var/lib/weir/weir.db'}
        {{- end }}
        - {name: WEIR_LEDGER_RETENTION_DAYS, value: {{ .Values.ledger.retentionDays | int | quote }}}
        {{- if include "weir.hasValkey" . }}
        {{- include "weir.urlVariable" (dict "variable" "WEIR_VALKEY_URL" "store" .Values.valkey "key" "valkey" "release" (include "weir.name" .)) | nindent 8 }}
        - {name: WEIR_REPLICAS, value: {{ ternary .Values.autoscaling.minReplicas .Values.replicas .Values.autoscaling.enabled | int | quote }}}
        {{- end }}
        {{- if .Values.responses.enabled }}
        - {name: WEIR_RESPONSES, value: stateless}
        {{- end }}
        {{- with .Values.furtherPaths }}{{ if .enabled }}
        - {name: WEIR_FURTHER_PATHS, value: {{ ternary "with-balance" "on" .balance | quote }}}
        {{- end }}{{ end }}
        {{- if .Values.costHeaders.enabled }}
        - {name: WEIR_COST_HEADERS, value: 'on'}
        {{- end }}
        {{- if .Values.identities.enabled }}
        - {name: WEIR_IDENTITIES, value: 'on'}
        {{- end }}
        {{- with .Values.webSearch }}{{ if .provider }}
        - {name: WEIR_WEB_SEARCH, value: {{ printf "%s:%s" .provider (ternary .url "/etc/weir/search/key" (eq .provider "searxng")) | quote }}}
        - {name: WEIR_WEB_SEARCH_PRICE, value: {{ .price | quote }}}
        {{- end }}
        {{- if .sealSecret.name }}
        - {name: WEIR_SEAL_KEY_FILE, value: /etc/weir/seal/keys}
        {{- end }}{{ end }}
        {{- with .Values.webhook }}{{ if .url }}
        - {name: WEIR_WEBHOOK_URL, value: {{ .url | quote }}}
        - {name: WEIR_WEBHOOK_SECRET_FILE, value: /etc/weir/webhook/secret}
        {{- end }}{{ end }}
        {{- with .Values.events }}{{ if .url }}
        - {name: WEIR_EVENTS_URL, value: {{ .url | quote }}}
        - {name: WEIR_EVENTS_SECRET_FILE, value: /etc/weir/events/secret}
        {{- with .types }}
        - {name: WEIR_EVENTS_TYPES, value: {{ join "," . | quote }}}
        {{- end }}
        - {name: WEIR_EVENTS_MAX_WAITING, value: {{ .maxWaiting | int64 | quote }}}
        {{- end }}{{ end }}
        {{- if include "weir.hasTokenizers" . }}
        - {name: WEIR_TOKENIZERS, value: /tokenizers}
        {{- end }}
        - name: WEIR_KUBERNETES_NAMESPACE
          valueFrom:
            fieldRef: {fieldPath: metadata.namespace}
        - {name: WEIR_ACCOUNT_NAMESPACES, value: {{ ternary (join "," .Values.accounts.namespaces) "none" .Values.accounts.enabled | quote }}}
        - name: WEIR_POD_NAME
          valueFrom:
            fieldRef: {fieldPath: metadata.name}
        - {name: WEIR_OPS_HOST, value: {{ .Values.edge.listenAddress | quote }}}
        - {name: WEIR_OPS_PORT, value: '9090'}
        - {name: WEIR_ABUSE_CONTACT, value: {{ .Values.settings.abuseContact | quote }}}
        - {name: WEIR_LOG_LEVEL, value: {{ .Values.settings.logLevel }}}
        - {name: WEIR_IDLE_SECONDS, value: {{ .Values.settings.idleSeconds | quote }}}
        - {name: WEIR_KEEP_ALIVE_SECONDS, value: {{ .Values.settings.keepAliveSeconds | quote }}}
        - {name: WEIR_IMAGE_HOSTS, value: {{ .Values.settings.imageHosts | quote }}}
        - {name: WEIR_DRAIN_SECONDS, value: {{ $serviceDrainSeconds | quote }}}
        {{- with .Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      ports:
        - {name: ops, containerPort: 9090}
      lifecycle:
        preStop:
          # Before the service gets its signal: Envoy says that it is about to end, goes on, and finishes what is open.
          exec:
            command:
              - node
              - /app/src/main.ts
              - envoy
              - drain
              - --run=/run/weir
              - --hold={{ .Values.drain.holdSeconds }}
              - --seconds={{ .Values.drain.longestStreamSeconds }}
      startupProbe:
        httpGet: {path: /livez, port: ops}
        periodSeconds: 1
        failureThreshold: 120
      # It has its own, short grace: a service that hangs has no stream to finish.
      livenessProbe:
        httpGet: {path: /livez, port: ops}
        periodSeconds: 5
        timeoutSeconds: 5
        failureThreshold: 4
        terminationGracePeriodSeconds: 30
      readinessProbe:
        httpGet: {path: /readyz, port: ops}
        periodSeconds: 5
        timeoutSeconds: 3
        failureThreshold: 2
      securityContext:
        {{- include "weir.containerSecurity" . | nindent 8 }}
      {{- with .Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - {name: run, mountPath: /run/weir}
        - {name: data, mountPath: /var/lib/weir}
        - {name: tmp, mountPath: /tmp}
        - {name: api-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
        {{- if .Values.tokenizers.configMaps }}
        {{- range $index, $map := .Values.tokenizers.configMaps }}
        - {name: tokenizer-{{ $index }}, mountPath: {{ printf "/tokenizers/%s" $map.folder | quote }}, readOnly: true}
        {{- end }}
        {{- else if include "weir.hasTokenizers" . }}
        - {name: tokenizers, mountPath: /tokenizers, readOnly: true}
        {{- end }}
        {{- with .Values.webSearch }}{{ if .existingSecret.name }}
        - {name: search-key, mountPath: /etc/weir/search, readOnly: true}
        {{- end }}
        {{- if .sealSecret.name }}
        - {name: seal-keys, mountPath: /etc/weir/seal, readOnly: true}
        {{- end }}{{ end }}
        {{- with .Values.webhook }}{{ if .url }}
        - {name: webhook-secret, mountPath: /etc/weir/webhook, readOnly: true}
        {{- end }}{{ end }}
        {{- with .Values.events }}{{ if .url }}
        - {name: events-secret, mountPath: /etc/weir/events, readOnly: true}
        {{- end }}{{ end }}
        {{- with .Values.extraVolumeMounts }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    {{- if and .Values.portal.enabled (not (include "weir.portalIsApart" .)) }}
    {{- include "weir.portalContainer" . | nindent 4 }}
    {{- end }}
  volumes:
    # Sockets and Envoy's configuration: gone with the pod.
    - name: run
      emptyDir: {medium: Memory, sizeLimit: 64Mi}
    - name: tmp
      emptyDir: {sizeLimit: 1Gi}
    {{- if not .Values.persistence.enabled }}
    - name: data
      emptyDir: {sizeLimit: {{ .Values.persistence.size }}}
    {{- end }}
    - name: api-access
      projected:
        sources:
          - serviceAccountToken: {path: token, expirationSeconds: 3607}
          - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
          - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
    {{- with $tls }}
    - name: tls
      secret: {secretName: {{ . }}}
    {{- end }}
    {{- with .Values.envoy.caBundle }}{{ if .configMap }}
    - name: ca-bundle
      configMap: {name: {{ .configMap }}, items: [{key: {{ .key | quote }}, path: ca-certificates.crt}]}
    {{- end }}{{ end }}
    {{- with .Values.webhook }}{{ if .url }}
    - name: webhook-secret
      secret:
        secretName: {{ required "webhook.existingSecret.name: expected the Secret that signs webhooks." .existingSecret.name }}
        items: [{key: {{ .existingSecret.key | quote }}, path: secret}]
    {{- end }}{{ end }}
    {{- with .Values.events }}{{ if .url }}
    - name: events-secret
      secret:
        secretName: {{ required "events.existingSecret.name: expected the Secret that signs events." .existingSecret.name }}
        items: [{key: {{ .existingSecret.key | quote }}, path: secret}]
    {{- end }}{{ end }}
    {{- with .Values.tokenizers.volume }}
    - name: tokenizers
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if .Values.tokenizers.initContainer }}
    - name: tokenizers
      emptyDir: {}
    {{- end }}
    {{- range $index, $map := .Values.tokenizers.configMaps }}
    - name: tokenizer-{{ $index }}
      configMap: {name: {{ $map.configMap }}}
    {{- end }}
    {{- with .Values.webSearch }}{{ with .existingSecret }}{{ if .name }}
    - name: search-key
      secret: {secretName: {{ .name }}, items: [{key: {{ .key | quote }}, path: key}]}
    {{- end }}{{ end }}{{ with .sealSecret }}{{ if .name }}
    - name: seal-keys
      secret: {secretName: {{ .name }}, items: [{key: {{ .key | quote }}, path: keys}]}
    {{- end }}{{ end }}{{ end }}
    {{- if and .Values.portal.enabled (not (include "weir.portalIsApart" .)) }}
    {{- include "weir.portalSecretVolumes" . | nindent 4 }}
    {{- end }}
    {{- with .Values.extraVolumes }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
{{- end -}}
