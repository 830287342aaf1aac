{{- define "berth.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "berth.serviceAccount" -}}
{{ .Values.serviceAccount.name | default (include "berth.name" .) }}
{{- end }}

{{- define "berth.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "berth.selector" -}}
app.kubernetes.io/name: berth
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "berth.labels" -}}
{{ include "berth.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "berth.leaseName" -}}
{{ .Values.lease.name | default (include "berth.name" .) }}
{{- end }}

{{- define "berth.leaseNamespace" -}}
{{ .Values.lease.namespace | default .Release.Namespace }}
{{- end }}

{{- /* berth.yaml: what the chart decides, under what the values say. */}}
{{- define "berth.configuration" -}}
{{- $lease := dict "leaderElect" true "resourceName" (include "berth.leaseName" .) "resourceNamespace" (include "berth.leaseNamespace" .) -}}
{{- $head := dict "apiVersion" "kubescheduler.config.k8s.io/v1" "kind" "KubeSchedulerConfiguration" -}}
{{- $ours := dict "leaderElection" $lease "profiles" .Values.profiles -}}
{{ mergeOverwrite $ours (deepCopy .Values.configuration) $head | toYaml }}
{{- if .Values.berthConfiguration }}
---
{{ mergeOverwrite (deepCopy .Values.berthConfiguration) (dict "apiVersion" "config.berth.dev/v1alpha1" "kind" "BerthConfiguration") | toYaml }}
{{- end }}
{{- end }}

{{- define "berth.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{- define "berth.mounts" -}}
- name: config
  mountPath: /etc/berth
  readOnly: true
- name: site-plugins
  mountPath: /usr/lib/berth/plugins/site
  readOnly: true
- name: state
  mountPath: /var/lib/berth
{{- end }}
