import type { Rendered } from './helm.ts';

/** The parts of a pod that the tests read. https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/ */
export interface PodTemplate {
  readonly metadata: {
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: PodSpec;
}

export interface PodSpec {
  readonly automountServiceAccountToken?: boolean;
  readonly priorityClassName?: string;
  readonly serviceAccountName: string;
  readonly terminationGracePeriodSeconds: number;
  readonly initContainers: readonly Container[];
  readonly containers: readonly Container[];
  readonly volumes: readonly Volume[];
}

export interface Container {
  readonly name: string;
  readonly command: readonly string[];
  readonly args: readonly string[];
  readonly env?: readonly Variable[];
  readonly restartPolicy?: 'Always';
  readonly ports?: readonly { readonly name: string; readonly containerPort: number }[];
  readonly volumeMounts?: readonly { readonly name: string; readonly mountPath: string }[];
  readonly resources?: { readonly limits?: { readonly memory?: string } };
  readonly startupProbe?: Probe;
  readonly livenessProbe?: Probe;
  readonly readinessProbe?: Probe;
  readonly lifecycle?: { readonly preStop?: { readonly exec?: { readonly command: readonly string[] } } };
}

export interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
    readonly resourceFieldRef?: { readonly containerName: string; readonly resource: string };
  };
}

export interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Volume {
  readonly name: string;
  readonly emptyDir?: object;
  readonly secret?: {
    readonly secretName: string;
    /** Which keys there are, and as which files; all of them under their own names where absent. */
    readonly items?: readonly { readonly key: string; readonly path: string }[];
  };
  readonly projected?: object;
}

/** The pod of the chart's one workload. */
export function podOf(objects: readonly Rendered[]): PodTemplate {
  const found = objects.filter(({ kind, metadata }) => {
    const isWorkload = kind === 'StatefulSet' || kind === 'Deployment';
    return isWorkload && metadata.labels?.['app.kubernetes.io/component'] === 'gateway';
  });
  const [workload] = found;
  if (workload === undefined || found.length > 1) throw new Error(`expected one workload, found ${found.length}`);
  return (workload.spec as { readonly template: PodTemplate }).template;
}
