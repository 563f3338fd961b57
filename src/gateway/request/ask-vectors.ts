import type { RequestTarget } from '../../core/capability.ts';
import { causeText, saidText } from '../../core/cause.ts';
import type { Clock } from '../../core/clock.ts';
import type { Endpoint } from '../../core/endpoint.ts';
import type { AnswerEvent, Fault } from '../../core/event.ts';
import { causeOf } from '../../core/fault-cause.ts';
import { vectorsOfBytes } from '../../core/vector-reference.ts';
import type { AskVectors, RouteOfModel, VectorsAnswer } from '../core/ask-vectors.ts';
import type { AttemptRecord } from '../core/health.ts';
import type { Upstream } from '../core/upstream.ts';
import { readRequest } from '../dialects/embeddings/read-request.ts';
import { chatErrors } from '../dialects/engine/read-error.ts';
import { readVectorsAs, type VectorsOptions } from '../dialects/engine/read-vectors.ts';
import { writeTask } from '../dialects/engine/write-task.ts';
import { startAttempt } from '../dispatch/attempt.ts';
import type { EngineProtocol } from '../dispatch/protocol.ts';
import { taskPaths } from '../engines/engine.ts';
import { engines } from '../engines/engines.ts';

interface AskServices {
  readonly upstream: Upstream;
  readonly clock: Clock;
}

/** Longest silence of an engine whose Backend has no limit of its own. A cold engine may load the model first. */
const silenceMs = 30_000;

/**
 * Embeds texts as a request of a caller would: the same body, the same reading, through Envoy, with the limits of the engine and of the
 * model on the number of inputs. The last text of the first call is embedded alone as well. It is no request of a caller: it is not settled, and says nothing about the health of the route.
 */
export function createAskVectors(services: AskServices): AskVectors {
  return async (of, { endpoint, texts }) => {
    const { maxInputs = Infinity } = engines[of.route.backend.engine].embeddings ?? {};
    const most = Math.max(1, Math.min(maxInputs, of.model.embedding?.maxInputs ?? Infinity, texts.length));
    const vectors: Float32Array[] = [];
    for (let first = 0; first < texts.length; first += most) {
      const answer = await askOnce(of, { endpoint, texts: texts.slice(first, first + most), ...services });
      if (answer.kind !== 'vectors') return answer;
      vectors.push(...answer.vectors);
    }
    if (most === 1) return { kind: 'vectors', vectors };
    const index = Math.min(most, texts.length) - 1;
    const answer = await askOnce(of, { endpoint, texts: texts.slice(index, index + 1), ...services });
    if (answer.kind !== 'vectors') return answer;
    const [vector] = answer.vectors;
    return { kind: 'vectors', vectors, alone: vector && { index, vector } };
  };
}

interface AskOnce extends AskServices {
  readonly endpoint: Endpoint;
  readonly texts: readonly string[];
}

function askOnce(of: RouteOfModel, { endpoint, texts, upstream, clock }: AskOnce): Promise<VectorsAnswer> {
  const { promise, resolve } = Promise.withResolvers<VectorsAnswer>();
  const { route, model } = of;
  const events: AnswerEvent[] = [];
  let isMoved = false;
  const record: AttemptRecord = {
    endpoint,
    output: () => undefined,
    ended: () => undefined,
    movedTo: () => {
      isMoved = true;
      return 'refused';
    },
  };
  const { engine } = route.backend;
  const planned = { route, target: { engine, upstreamModel: route.upstreamModel, parameters: [] } } as const;
  const idleMs = route.backend.timeouts?.firstOutputMs ?? silenceMs;
  const protocol = protocolOf(of, texts);
  try {
    startAttempt(
      { planned, choices: 1, continuation: undefined, record, protocol, upstream, clock, idleMs },
      {
        calling: () => undefined,
        movedTo: () => undefined,
        events: (found) => void events.push(...found),
        over: (end) => {
          if (isMoved) resolve({ kind: 'failed', why: 'Envoy has no healthy connection to it' });
          else if (end !== 'complete') resolve(failureOf(end));
          else resolve({ kind: 'vectors', vectors: vectorsIn(events, model.embedding?.dimensions ?? 0) });
        },
        crashed: (error) => resolve({ kind: 'failed', why: String(error) }),
      },
    );
  } catch (error) {
    resolve({ kind: 'failed', why: String(error) });
  }
  return promise;
}

function protocolOf({ model, route }: RouteOfModel, texts: readonly string[]): EngineProtocol {
  const { cluster, headers, path, query = '' } = route.backend;
  return {
    errors: chatErrors,
    request: ({ target }, { name, authority }) => ({
      ...{ cluster: cluster.name, backend: cluster.backend, endpoint: name, authority, headers },
      path: `${path}${taskPaths.embedding}${query}`,
      accept: 'application/json',
      body: writeProbe(texts, target),
    }),
    reader: (_, { contentType }) =>
      readVectorsAs(contentType, probeAnswer(texts.length, model.embedding?.dimensions ?? 0)),
    continuation: () => ({ mark: 'none', reasoning: false }),
  };
}

/** The body of a request for vectors. Their bits are compared, so base64 is asked for where the engine has it. */
export function writeProbe(input: readonly string[], target: RequestTarget): string {
  const request = readRequest({ model: target.upstreamModel, input, encoding_format: 'base64' });
  return request.task === undefined ? '' : writeTask(request, request.task, target);
}

/** What the answer has to be. */
export const probeAnswer = (inputs: number, dimensions: number): VectorsOptions => ({
  ...{ inputs, first: 0, dimensions, encoding: 'base64' },
});

export function vectorsIn(events: readonly AnswerEvent[], dimensions: number): readonly Float32Array[] {
  const held = events.flatMap((event) => (event.type === 'vectors' ? event.vectors : []));
  return held.flatMap(({ bytes }) => vectorsOfBytes(bytes, dimensions));
}

function failureOf(fault: Fault): VectorsAnswer {
  const { vectorLength: length } = fault;
  return length === undefined ? { kind: 'failed', why: whyFailed(fault) } : { kind: 'wrong-length', length };
}

/** Why there are no vectors, for the operator, on one line. */
export function whyFailed(fault: Fault): string {
  const detail = fault.kind === 'malformed' ? ` (${fault.detail})` : '';
  return `${causeText(causeOf(fault), fault.status)}${detail}${saidText(fault.said)}`;
}
