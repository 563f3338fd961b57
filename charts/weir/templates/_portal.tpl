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
    - {name: WEIR_ACCOUNT_METRICS, value: {{ .Values.portal.accountMetrics | quote }}}
    {{- if .Values.identities.enabled }}
    - {name: WEIR_IDENTITIES, value: 'on'}
    {{- end }}
    {{- with .Values.portal.publicUrl }}
    - {name: WEIR_PUBLIC_URL, value: {{ . | quote }}}
    {{- end }}
    {{- with .Values.portal.oidc }}{{ if .issuer }}
    - {name: WEIR_ADMIN_URL, value: {{ include "weir.portalUrl" $ | quote }}}
    - {name: WEIR_OIDC_ISSUER, value: {{ .issuer | quote }}}
    {{- with .name }}
    - {name: WEIR_OIDC_NAME, value: {{ . | quote }}}
    {{- end }}
    - {name: WEIR_OIDC_CLIENT_ID, value: {{ .clientId | quote }}}
    {{- if .clientSecret.name }}
    - {name: WEIR_OIDC_CLIENT_SECRET_FILE, value: /etc/weir/portal-oidc/secret}
    {{- end }}
    - {name: WEIR_OIDC_SCOPES, value: {{ .scopes | quote }}}
    - {name: WEIR_OIDC_ADMINS, value: {{ join "," .admins | quote }}}
    - {name: WEIR_OIDC_GROUPS_CLAIM, value: {{ .groupsClaim | quote }}}
    {{- end }}{{ end }}
    - {name: WEIR_LOG_LEVEL, value: {{ .Values.settings.logLevel }}}
  ports:
    - {name: portal, containerPort: 9091}
  # None of them asks for the database: a portal that says what is wrong helps more than none.
  startupProbe:
    httpGet: {path: /livez, port: portal}
    periodSeconds: 1
    failureThreshold: 120
  readinessProbe:
    httpGet: {path: /livez, port: portal}
    periodSeconds: 5
  livenessProbe:
    httpGet: {path: /livez, port: portal}
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
    {{- if include "weir.portalOidcSecret" . }}
    - {name: portal-oidc, mountPath: /etc/weir/portal-oidc, readOnly: true}
    {{- end }}
{{- end -}}

{{- define "weir.portalSecretVolumes" -}}
- name: portal-token
  secret: {secretName: {{ include "weir.portalTokenSecret" . }}, items: [{key: {{ .Values.portal.tokenSecret.key | quote }}, path: token}]}
{{- with include "weir.portalOidcSecret" . }}
- name: portal-oidc
  secret: {secretName: {{ . }}, items: [{key: {{ $.Values.portal.oidc.clientSecret.key | quote }}, path: secret}]}
{{- end }}
{{- end -}}

{{/* The Secret with what the OpenID provider knows the portal by; empty without one. */}}
{{- define "weir.portalOidcSecret" -}}
{{- with .Values.portal.oidc -}}{{- if .issuer -}}{{- .clientSecret.name -}}{{- end -}}{{- end -}}
{{- end -}}

{{/* Where browsers reach the portal; empty where nobody says. */}}
{{- define "weir.portalUrl" -}}
{{- with .Values.portal -}}
{{- if .url -}}{{- .url -}}{{- else if and .ingress.enabled .ingress.tlsSecretName -}}https://{{ .ingress.host }}{{- end -}}
{{- end -}}
{{- end -}}
