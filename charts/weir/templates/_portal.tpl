{{/* The container of the portal, in pods of its own or in the one with the embedded store. */}}
{{- define "weir.portalContainer" -}}
- name: portal
  image: {{ include "weir.image" (dict "image" .Values.image "appVersion" .Chart.AppVersion) }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [node, /app/src/main.ts]
  args: [portal]
  env:
    - {name: WEIR_DATA, value: /var/lib/weir}
    {{- if include "weir.portalIsApart" . }}
    {{- include "weir.urlVariable" (dict "variable" "WEIR_DATABASE_URL" "store" .Values.database "key" "database" "release" (include "weir.name" .)) | nindent 4 }}
    # Each pod of the gateway: the Service is headless.
    - {name: WEIR_SERVICES, value: 'http://{{ include "weir.name" . }}-pods:9090'}
    {{- else }}
    - {name: WEIR_DATABASE_URL, value: 'sqlite:/var/lib/weir/weir.db'}
    - {name: WEIR_SERVICES, value: 'http://127.0.0.1:9090'}
    {{- end }}
    - {name: WEIR_ADMIN_HOST, value: {{ .Values.edge.listenAddress | quote }}}
    - {name: WEIR_ADMIN_PORT, value: '9091'}
    - {name: WEIR_ADMIN_TOKEN_FILE, value: /etc/weir/portal/token}
    - {name: WEIR_ADMIN_TRUSTED_HOPS, value: {{ .Values.portal.trustedHops | quote }}}
    {{- with .Values.portal.publicUrl }}
    - {name: WEIR_PUBLIC_URL, value: {{ . | quote }}}
    {{- end }}
    - {name: WEIR_LOG_LEVEL, value: {{ .Values.settings.logLevel }}}
  ports:
    - {name: portal, containerPort: 9091}
  startupProbe:
    tcpSocket: {port: portal}
    periodSeconds: 1
    failureThreshold: 120
  readinessProbe:
    tcpSocket: {port: portal}
    periodSeconds: 5
  livenessProbe:
    httpGet: {path: /api/openapi.json, port: portal}
    periodSeconds: 10
    timeoutSeconds: 5
    failureThreshold: 4
  securityContext:
    {{- include "weir.containerSecurity" . | nindent 4 }}
  {{- with .Values.portal.resources }}
  resources:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  volumeMounts:
    - {name: data, mountPath: /var/lib/weir}
    - {name: tmp, mountPath: /tmp}
    - {name: portal-token, mountPath: /etc/weir/portal, readOnly: true}
{{- end -}}

{{- define "weir.portalTokenVolume" -}}
- name: portal-token
  secret: {secretName: {{ include "weir.portalTokenSecret" . }}, items: [{key: {{ .Values.portal.tokenSecret.key | quote }}, path: token}]}
{{- end -}}
