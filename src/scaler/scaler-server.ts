import { createServer as createTcpServer, type Server as TcpServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { fileURLToPath } from 'node:url';
import {
  type sendUnaryData,
  Server,
  ServerCredentials,
  ServerInterceptingCall,
  type ServerUnaryCall,
  type ServerWritableStream,
  status,
} from '@grpc/grpc-js';
import { load } from '@grpc/proto-loader';
import { z } from 'zod';
import { type Clock, every } from '../core/clock.ts';
import { messageOf } from '../core/failure.ts';
import { grpcOptions, injectBounded, portBounds, type PortBounds } from '../core/port-bounds.ts';
import { boundedStatus, cutText, quoted } from '../core/one-line.ts';
import type { DemandOfServices } from './services-demand.ts';
import {
  type TriggerAnswer,
  type BackendState,
  metricNameOf,
  percentOf,
  readTrigger,
  stateOf,
  type Trigger,
  type Unanswered,
} from './trigger.ts';

export interface ScalerServer {
  readonly port: number;
  /** Streams that are open. */
  readonly streams: () => number;
  readonly close: () => Promise<void>;
}

export interface ScalerServerOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly port: number;
  /** PEM. Undefined: gRPC without TLS. */
  readonly tls: { readonly cert: string; readonly key: string } | undefined;
  /** Rejects with a sentence if no service answers. */
  readonly demand: () => Promise<DemandOfServices>;
  readonly clock: Pick<Clock, 'after'>;
  readonly bounds?: PortBounds;
  readonly onAnswered: (method: ScalerMethod, result: 'answered' | Unanswered['kind']) => void;
  /** A question could not be answered. `scaledObject`: NAMESPACE/NAME. */
  readonly onUnanswered: (scaledObject: string, unanswered: Unanswered) => void;
}

export type ScalerMethod = 'IsActive' | 'StreamIsActive' | 'GetMetricSpec' | 'GetMetrics';

const protoFile = fileURLToPath(new URL('../../protos/external_scaler.proto', import.meta.url));
const serviceName = 'externalscaler.ExternalScaler';

const refSchema = z.object({
  name: z.string().default(''),
  namespace: z.string().default(''),
  scalerMetadata: z.record(z.string(), z.string()).default({}),
});
type ScaledObjectRef = z.output<typeof refSchema>;
const askSchema = z.object({
  scaledObjectRef: refSchema.nullish().transform((ref) => ref ?? refSchema.parse({})),
  metricName: z.string().default(''),
});

/** Maximum length of a namespace with the name of an object in Kubernetes. */
const maxObjectName = 63 + 1 + 253;

/** How soon a stream notices that its Backend has become active or idle, ms. */
const lookEveryMs = 1_000;

const codes: Readonly<Record<Unanswered['kind'], status>> = {
  wrong: status.INVALID_ARGUMENT,
  unknown: status.NOT_FOUND,
  unavailable: status.UNAVAILABLE,
};

/**
 * Answers KEDA. A question that cannot be answered gets an error, and never a zero, so that KEDA leaves the replicas as they are.
 * https://keda.sh/docs/latest/concepts/external-scalers/
 */
export async function listenScaler(options: ScalerServerOptions): Promise<ScalerServer> {
  const { bounds = portBounds.scaler, clock, onAnswered, onUnanswered, tls } = options;
  const { [serviceName]: service } = await load(protoFile, { keepCase: true, longs: Number });
  if (service === undefined || 'format' in service) throw new Error(`${protoFile} does not define ${serviceName}`);

  async function currentState(trigger: Trigger): Promise<TriggerAnswer<BackendState>> {
    try {
      return stateOf(trigger, await options.demand());
    } catch (error) {
      return { unanswered: { kind: 'unavailable', message: messageOf(error) } };
    }
  }

  /** The state of the Backend that a ScaledObject names. */
  async function look(ref: ScaledObjectRef): Promise<TriggerAnswer<BackendState & { readonly trigger: Trigger }>> {
    const read = readTrigger(ref.scalerMetadata);
    if ('unanswered' in read) return read;
    const state = await currentState(read.said);
    return 'unanswered' in state ? state : { said: { ...state.said, trigger: read.said } };
  }

  function note(method: ScalerMethod, { name, namespace }: ScaledObjectRef, answer: TriggerAnswer<unknown>): void {
    if ('unanswered' in answer) {
      onAnswered(method, answer.unanswered.kind);
      onUnanswered(cutText(`${namespace}/${name}`, maxObjectName), answer.unanswered);
    } else onAnswered(method, 'answered');
  }

  /** A method with one answer. `answer` never rejects. */
  const unary =
    <Asked>(
      method: ScalerMethod,
      read: (request: unknown) => { readonly asked: Asked; readonly ref: ScaledObjectRef },
      answer: (asked: Asked) => Promise<TriggerAnswer<object>>,
    ) =>
    (call: ServerUnaryCall<unknown, object>, reply: sendUnaryData<object>): void => {
      const { asked, ref } = read(call.request);
      void answer(asked).then((given) => {
        note(method, ref, given);
        if ('said' in given) reply(null, given.said);
        else reply(errorOf(given.unanswered));
      });
    };
  const readRef = (request: unknown) => {
    const ref = refSchema.parse(request);
    return { asked: ref, ref };
  };
  const readAsk = (request: unknown) => {
    const asked = askSchema.parse(request);
    return { asked, ref: asked.scaledObjectRef };
  };

  let streams = 0;
  function streamIsActive(call: ServerWritableStream<unknown, object>): void {
    const ref = refSchema.parse(call.request);
    let last: boolean | undefined;
    let isOver = false;
    const step = async (): Promise<void> => {
      const answer = await look(ref);
      if (isOver) return;
      // While no service answers, KEDA keeps what it was told last.
      if ('unanswered' in answer && answer.unanswered.kind === 'unavailable' && last !== undefined) return;
      if ('unanswered' in answer) {
        note('StreamIsActive', ref, answer);
        call.emit('error', errorOf(answer.unanswered));
        return;
      }
      const { isActive } = answer.said;
      if (isActive === last) return;
      last = isActive;
      note('StreamIsActive', ref, answer);
      call.write({ result: isActive });
    };
    streams += 1;
    const stop = every(clock, lookEveryMs, step);
    void step();
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      streams -= 1;
      stop();
    };
    for (const event of ['cancelled', 'error', 'close']) call.on(event, over);
  }

  const server = new Server({
    ...{ 'grpc.enable_channelz': 0, ...grpcOptions(bounds) },
    interceptors: [(_method, call) => new ServerInterceptingCall(call, boundedStatus)],
  });
  server.addService(service, {
    IsActive: unary('IsActive', readRef, async (ref) =>
      mapped(await look(ref), ({ isActive }) => ({ result: isActive })),
    ),
    StreamIsActive: streamIsActive,
    // A target is known without any service, so that KEDA can make its autoscaler in a cluster that starts.
    GetMetricSpec: unary('GetMetricSpec', readRef, (ref) =>
      Promise.resolve(
        mapped(readTrigger(ref.scalerMetadata), (trigger) => ({
          metricSpecs: [
            {
              metricName: metricNameOf(trigger),
              targetSize: trigger.targetPercent,
              targetSizeFloat: trigger.targetPercent,
            },
          ],
        })),
      ),
    ),
    GetMetrics: unary('GetMetrics', readAsk, async ({ scaledObjectRef, metricName }) => {
      const answer = await look(scaledObjectRef);
      if ('unanswered' in answer) return answer;
      const { trigger, needed } = answer.said;
      const own = metricNameOf(trigger);
      if (metricName !== own) {
        return { unanswered: { kind: 'wrong', message: `metricName: expected "${own}", got ${quoted(metricName)}` } };
      }
      const value = percentOf(needed);
      return { said: { metricValues: [{ metricName: own, metricValue: value, metricValueFloat: value }] } };
    }),
  });
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure());
  const listener =
    tls === undefined
      ? createTcpServer()
      : createTlsServer({ ...tls, ALPNProtocols: ['h2'], handshakeTimeout: bounds.maxHeadMs });
  const connections = injectBounded(listener, {
    ...{ bounds, security: tls === undefined ? 'none' : 'tls' },
    inject: (socket: Socket) => injector.injectConnection(socket),
  });
  const port = await listen(listener, options);
  return {
    port,
    streams: () => streams,
    close: () => {
      // Streams have no end of their own, so that there is nothing to wait for.
      server.forceShutdown();
      return new Promise((resolve) => {
        listener.close(() => resolve());
        connections.cut();
      });
    },
  };
}

function mapped<Said>(answer: TriggerAnswer<Said>, map: (said: Said) => object): TriggerAnswer<object> {
  return 'said' in answer ? { said: map(answer.said) } : answer;
}

const errorOf = ({ kind, message }: Unanswered) => ({ code: codes[kind], details: message });

function listen(server: TcpServer, { host, port }: ScalerServerOptions): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => {
      server.off('error', reject);
      const address = server.address();
      resolve(typeof address === 'object' && address !== null ? address.port : port);
    });
  });
}
