import { fileURLToPath } from 'node:url';
import {
  Client,
  type ClientReadableStream,
  credentials,
  type ChannelCredentials,
  type ServiceError,
} from '@grpc/grpc-js';
import { loadSync, type MethodDefinition } from '@grpc/proto-loader';

const ownProto = fileURLToPath(new URL('../../protos/external_scaler.proto', import.meta.url));

interface ScaledObjectRef {
  readonly name: string;
  readonly namespace: string;
  readonly scalerMetadata: Readonly<Record<string, string>>;
}

export const refOf = (scalerMetadata: Readonly<Record<string, string>>): ScaledObjectRef => ({
  ...{ name: 'engines', namespace: 'models' },
  scalerMetadata: { scalerAddress: 'weir-scaler:9004', ...scalerMetadata },
});

interface MetricSpec {
  readonly metricName: string;
  readonly targetSize: number;
  readonly targetSizeFloat: number;
}

interface MetricValue {
  readonly metricName: string;
  readonly metricValue: number;
  readonly metricValueFloat: number;
}

/** Asks a scaler as KEDA does. Each call rejects with the code and the details of the error. */
export interface ScalerClient {
  readonly isActive: (ref: ScaledObjectRef) => Promise<boolean>;
  readonly spec: (ref: ScaledObjectRef) => Promise<readonly MetricSpec[]>;
  readonly metrics: (ref: ScaledObjectRef, metricName: string) => Promise<readonly MetricValue[]>;
  readonly stream: (ref: ScaledObjectRef) => ActiveStream;
  /** The replicas that the autoscaler of Kubernetes wants. */
  readonly wantedReplicas: (ref: ScaledObjectRef) => Promise<number>;
  readonly close: () => void;
}

interface ActiveStream {
  readonly said: readonly boolean[];
  /** Resolves with the code and the details of its error. */
  readonly failed: Promise<string>;
  readonly cancel: () => void;
}

/** `proto`: the file of the protocol. Default: Weir's own. */
export function scalerClient(
  port: number,
  { proto = ownProto, security = credentials.createInsecure() }: { proto?: string; security?: ChannelCredentials } = {},
): ScalerClient {
  const service = loadSync(proto, { keepCase: true, longs: Number, defaults: true })['externalscaler.ExternalScaler'];
  const method = (name: string): MethodDefinition<object, object> =>
    (service as Readonly<Record<string, MethodDefinition<object, object>>>)[name] as MethodDefinition<object, object>;
  const client = new Client(`127.0.0.1:${port}`, security, { 'grpc.ssl_target_name_override': 'localhost' });
  const ask = <Said>(name: string, request: object): Promise<Said> => {
    const { path, requestSerialize, responseDeserialize } = method(name);
    return new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, requestSerialize, responseDeserialize, request, (error, said) =>
        error === null ? resolve(said as Said) : reject(new Error(textOf(error), { cause: error })),
      );
    });
  };
  const spec: ScalerClient['spec'] = async (ref) =>
    (await ask<{ readonly metricSpecs: readonly MetricSpec[] }>('GetMetricSpec', ref)).metricSpecs;
  const metrics: ScalerClient['metrics'] = async (scaledObjectRef, metricName) =>
    (await ask<{ readonly metricValues: readonly MetricValue[] }>('GetMetrics', { scaledObjectRef, metricName }))
      .metricValues;
  return {
    spec,
    metrics,
    isActive: async (ref) => (await ask<{ readonly result: boolean }>('IsActive', ref)).result,
    stream: (ref) => {
      const { path, requestSerialize, responseDeserialize } = method('StreamIsActive');
      const stream = client.makeServerStreamRequest(
        ...([path, requestSerialize, responseDeserialize, ref] as const),
      ) as ClientReadableStream<{ readonly result: boolean }>;
      const said: boolean[] = [];
      stream.on('data', ({ result }: { readonly result: boolean }) => said.push(result));
      const failed = new Promise<string>((resolve) =>
        stream.on('error', (error: ServiceError) => resolve(textOf(error))),
      );
      return { said, failed, cancel: () => stream.cancel() };
    },
    wantedReplicas: async (ref) => {
      if (!(await ask<{ readonly result: boolean }>('IsActive', ref)).result) return 0;
      const [target] = await spec(ref);
      const [value] = await metrics(ref, target?.metricName ?? '');
      // https://kubernetes.io/docs/tasks/run-application/horizontal-pod-autoscale/#algorithm-details, of an AverageValue
      return Math.max(1, Math.ceil((value?.metricValueFloat ?? 0) / (target?.targetSizeFloat ?? 0)));
    },
    close: () => client.close(),
  };
}

const textOf = ({ code, details }: ServiceError): string => `${code}: ${details}`;
