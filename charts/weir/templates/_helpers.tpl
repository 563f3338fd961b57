{{- define "weir.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{- define "weir.selector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- define "weir.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end -}}

{{- define "weir.image" -}}
{{- $tag := .image.tag | default .appVersion -}}
{{- printf "%s:%s" .image.repository $tag -}}{{- with .image.digest }}@{{ . }}{{ end -}}
{{- end -}}

{{/* "yes" where the portal has pods of its own; with the embedded store it shares the pod that has the file. */}}
{{- define "weir.portalIsApart" -}}
{{- if and .Values.portal.enabled (include "weir.hasDatabase" .) -}}yes{{- end -}}
{{- end -}}

{{- define "weir.portalSelector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: {{ ternary "portal" "gateway" (ne (include "weir.portalIsApart" .) "") }}
{{- end -}}

{{- define "weir.portalTokenSecret" -}}
{{- .Values.portal.tokenSecret.name | default (printf "%s-portal" (include "weir.name" .)) -}}
{{- end -}}

{{- define "weir.pickerSelector" -}}
app.kubernetes.io/name: weir
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: picker
{{- end -}}

{{/* An account of its own, because its rights are fewer. Operators who bring theirs have one for both. */}}
{{- define "weir.pickerServiceAccount" -}}
{{- if .Values.serviceAccount.create -}}{{ include "weir.name" . }}-picker{{- else -}}{{ include "weir.serviceAccount" . }}{{- end -}}
{{- end -}}

{{- define "weir.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (ternary (include "weir.name" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* "yes" where there can be more than one pod, now or later. */}}
{{- define "weir.isMany" -}}
{{- if or (and .Values.autoscaling.enabled (gt (int .Values.autoscaling.maxReplicas) 1)) (and (not .Values.autoscaling.enabled) (gt (int .Values.replicas) 1)) -}}yes{{- end -}}
{{- end -}}

{{- define "weir.hasDatabase" -}}
{{- if or .Values.database.url .Values.database.existingSecret.name -}}yes{{- end -}}
{{- end -}}

{{- define "weir.hasValkey" -}}
{{- if or .Values.valkey.url .Values.valkey.existingSecret.name -}}yes{{- end -}}
{{- end -}}

{{/* Name of the Secret with the edge's certificate; empty where the edge does not speak TLS. */}}
{{- define "weir.tlsSecret" -}}
{{- if .Values.edge.tls.certManager.enabled -}}{{ include "weir.name" . }}-tls{{- else -}}{{ .Values.edge.tls.secretName }}{{- end -}}
{{- end -}}

{{- define "weir.kind" -}}
{{- ternary "StatefulSet" "Deployment" .Values.persistence.enabled -}}
{{- end -}}

{{- define "weir.servicePort" -}}
{{- .Values.service.port | int | default (ternary 443 80 (ne (include "weir.tlsSecret" .) "")) -}}
{{- end -}}

{{- define "weir.hasTokenizers" -}}
{{- if or .Values.tokenizers.volume .Values.tokenizers.configMaps .Values.tokenizers.initContainer -}}yes{{- end -}}
{{- end -}}

{{/* What no schema can say. Every refusal names the value and what to do. */}}
{{- define "weir.check" -}}
{{- $values := .Values -}}
{{- if and (include "weir.isMany" .) (not (and (include "weir.hasDatabase" .) (include "weir.hasValkey" .))) -}}
{{- $which := ternary "autoscaling.maxReplicas" "replicas" $values.autoscaling.enabled -}}
{{- $missing := list -}}
{{- if not (include "weir.hasDatabase" .) -}}{{- $missing = append $missing "database.url or database.existingSecret.name (PostgreSQL)" -}}{{- end -}}
{{- if not (include "weir.hasValkey" .) -}}{{- $missing = append $missing "valkey.url or valkey.existingSecret.name (Valkey)" -}}{{- end -}}
{{- fail (printf "%s: more than one pod needs its accounts and limits in one place; set %s, or leave it at 1." $which (join " and " $missing)) -}}
{{- end -}}
{{- if and $values.autoscaling.enabled (gt (int $values.autoscaling.minReplicas) (int $values.autoscaling.maxReplicas)) -}}
{{- fail "autoscaling.minReplicas: it must not be above autoscaling.maxReplicas." -}}
{{- end -}}
{{- if and $values.autoscaling.enabled (not $values.autoscaling.targetCpuPercent) (not $values.autoscaling.targetInFlight) -}}
{{- fail "autoscaling: set targetCpuPercent or targetInFlight; with neither there is nothing to scale by." -}}
{{- end -}}
{{- range $name := list "database" "valkey" -}}
{{- $store := index $values $name -}}
{{- if and $store.url $store.existingSecret.name -}}
{{- fail (printf "%s: set url or existingSecret.name, not both." $name) -}}
{{- end -}}
{{- end -}}
{{- if and $values.edge.tls.certManager.enabled $values.edge.tls.secretName -}}
{{- fail "edge.tls: set secretName or certManager.enabled, not both." -}}
{{- end -}}
{{- if $values.edge.tls.certManager.enabled -}}
{{- if not $values.edge.tls.certManager.issuerRef.name -}}{{- fail "edge.tls.certManager.issuerRef.name: expected the name of an issuer." -}}{{- end -}}
{{- if not $values.edge.tls.certManager.dnsNames -}}{{- fail "edge.tls.certManager.dnsNames: expected the names that callers use." -}}{{- end -}}
{{- end -}}
{{- if and $values.ingress.enabled (not $values.ingress.host) -}}{{- fail "ingress.host: expected the name that callers use." -}}{{- end -}}
{{- if and $values.httpRoute.enabled (not $values.httpRoute.parentRefs) -}}{{- fail "httpRoute.parentRefs: expected at least one Gateway." -}}{{- end -}}
{{- if and $values.envoyGateway.enabled (not $values.httpRoute.enabled) -}}{{- fail "envoyGateway: its policy is for the HTTPRoute; set httpRoute.enabled and httpRoute.parentRefs." -}}{{- end -}}
{{- if and (or $values.ingress.enabled $values.httpRoute.enabled) (include "weir.tlsSecret" .) -}}
{{- fail "edge.tls: an Ingress or HTTPRoute ends TLS itself and speaks plain HTTP to the pods; use one of the two." -}}
{{- end -}}
{{- if gt (len (compact (list (ternary "v" "" (not (empty $values.tokenizers.volume))) (ternary "c" "" (not (empty $values.tokenizers.configMaps))) (ternary "i" "" (not (empty $values.tokenizers.initContainer)))))) 1 -}}
{{- fail "tokenizers: set one of volume, configMaps and initContainer." -}}
{{- end -}}
{{- if and $values.tokenizers.initContainer (not (get $values.tokenizers.initContainer "image")) -}}{{- fail "tokenizers.initContainer.image: expected an image." -}}{{- end -}}
{{- with $values.webSearch -}}
{{- if and (eq .provider "searxng") (not .url) -}}{{- fail "webSearch.url: expected the address of the SearXNG instance." -}}{{- end -}}
{{- if and .provider (ne .provider "searxng") (not .existingSecret.name) -}}{{- fail (printf "webSearch.existingSecret.name: expected the Secret that holds the key of %s." .provider) -}}{{- end -}}
{{- if and .provider (not .sealSecret.name) (or (include "weir.hasDatabase" $) (include "weir.hasValkey" $)) -}}
{{- fail "webSearch.sealSecret.name: pods that share accounts must share the keys that seal what was found; expected a Secret that holds them." -}}
{{- end -}}
{{- end -}}
{{- if and $values.responses.enabled (not $values.webSearch.sealSecret.name) (or (include "weir.hasDatabase" $) (include "weir.hasValkey" $)) -}}
{{- fail "webSearch.sealSecret.name: responses.enabled, with pods that share accounts, needs the keys that seal reasoning to be shared; expected a Secret that holds them." -}}
{{- end -}}
{{- with $values.portal -}}
{{- if and .ingress.enabled (not .ingress.host) -}}{{- fail "portal.ingress.host: expected the name that people use." -}}{{- end -}}
{{- if and .httpRoute.enabled (not .httpRoute.parentRefs) -}}{{- fail "portal.httpRoute.parentRefs: expected at least one Gateway." -}}{{- end -}}
{{- if and (or .ingress.enabled .httpRoute.enabled) (not .enabled) -}}{{- fail "portal: its Ingress or HTTPRoute leads to nothing; set portal.enabled." -}}{{- end -}}
{{- if and .ingress.enabled $values.ingress.enabled (eq .ingress.host $values.ingress.host) -}}{{- fail "portal.ingress.host: expected another name than ingress.host; callers of the models must not reach the portal." -}}{{- end -}}
{{- if and .oidc.issuer (not .oidc.clientId) -}}{{- fail "portal.oidc.clientId: expected the name that the provider knows the portal by." -}}{{- end -}}
{{- if and .oidc.issuer (not (include "weir.portalUrl" $)) -}}{{- fail "portal.url: expected where browsers reach the portal, to which the OpenID provider sends them back." -}}{{- end -}}
{{- end -}}
{{- if and $values.picker.enabled (not $values.picker.pool) -}}{{- fail "picker.pool: expected the name of an InferencePool in the namespace of the release." -}}{{- end -}}
{{- if and $values.picker.tls.clientCertificates (not $values.picker.tls.secretName) -}}{{- fail "picker.tls.clientCertificates: set picker.tls.secretName, whose ca.crt has the authority." -}}{{- end -}}
{{- $own := list "SERVICES" "ADMIN_HOST" "ADMIN_PORT" "ADMIN_TOKEN_FILE" "ADMIN_TRUSTED_HOPS" "PUBLIC_URL" "REPLICAS" "RESPONSES" "WEB_SEARCH" "WEB_SEARCH_PRICE" "SEAL_KEY_FILE" "RUN" "DATA" "DATABASE_URL" "VALKEY_URL" "TOKENIZERS" "KUBERNETES_NAMESPACE" "POD_NAME" "OPS_HOST" "OPS_PORT" "ABUSE_CONTACT" "LOG_LEVEL" "IDLE_SECONDS" "KEEP_ALIVE_SECONDS" "DRAIN_SECONDS" "EDGE_HOST" "TRUSTED_HOPS" "CONNECTIONS_PER_ADDRESS" "UNAUTHENTICATED_IDLE_SECONDS" "TLS_CERTIFICATE_FILE" "TLS_KEY_FILE" "ENVOY_OPS_PORT" -}}
{{- range $values.extraEnv -}}
{{- if has (trimPrefix "WEIR_" .name) $own -}}
{{- fail (printf "extraEnv: %s is set by the chart; it has a value of its own, or must not be changed." .name) -}}
{{- end -}}
{{- end -}}
{{- end -}}
