import type { Round } from '../../core/capability.ts';
import type { Dialect } from '../../core/dialect.ts';
import type { Plan } from '../core/plan.ts';
import type { PreparedRequest } from '../../core/prompt.ts';
import type { RequestWatch } from '../core/telemetry.ts';
import { stateOwner } from '../dialects/engine/opaque-fields.ts';
import { chatErrors } from '../dialects/engine/read-error.ts';
import { readResponseAs } from '../dialects/engine/read-response.ts';
import type { EngineProtocol } from '../dispatch/protocol.ts';
import { capabilitiesOf, inlineReasoningOf } from '../engines/engines.ts';
import { checkUsage } from '../metering/check-usage.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import type { TokenCounters } from '../metering/meter.ts';
import { maxPromptTokens, minPromptTokens } from '../metering/prompt-bound.ts';
import { createStateSealing } from './engine-state.ts';

export interface ChatProtocolOptions {
  readonly watch: Pick<RequestWatch, 'progress'>;
  readonly dialect: Pick<Dialect, 'idPrefixes'>;
  readonly prepared: PreparedRequest;
  readonly plan: Plan;
  /** Undefined: the model has no tokenizer. */
  readonly counters: Pick<TokenCounters, 'bounds'> | undefined;
  /** Undefined in the first call of an answer. */
  readonly round: Round | undefined;
  /** Output cap of a choice, tokens. */
  readonly cap: number | undefined;
}

/** What seals the state of engines. */
export interface StateServices {
  /** Letters and digits that cannot be guessed. */
  readonly newId: () => string;
  /** Of all processes with the same accounts. It can change once, soon after the start. */
  readonly sharedSecret: () => string;
}

const encoder = new TextEncoder();

/** Writes requests and reads answers of one call to a model. All engines get the chat format. */
export function chatProtocol(
  { watch, dialect, prepared, plan, counters, round, cap }: ChatProtocolOptions,
  { newId, sharedSecret }: StateServices,
): EngineProtocol {
  const { model, affinity } = plan;
  const { tools, sampling, stream } = prepared.request;
  const promptEstimate = estimatePrompt(prepared.shape, model);
  /** Size of the largest body that an engine got. Undefined before one was written. */
  let bodyBytes: number | undefined;
  /** Whether an engine got a partial answer, which it may repeat without counting it. */
  let hasSentPartial = false;
  /** The bytes of a body, whose number is then known without another pass over the text. */
  const sent = (body: string | Uint8Array): Uint8Array => {
    const bytes = typeof body === 'string' ? encoder.encode(body) : body;
    bodyBytes = Math.max(bodyBytes ?? 0, bytes.length);
    return bytes;
  };
  const boundsNow = () => counters?.bounds?.();
  const promptBounds = () => {
    const { shape } = prepared;
    const bounds = boundsNow();
    return {
      min: minPromptTokens(shape, bounds),
      max: bodyBytes === undefined ? Infinity : maxPromptTokens({ bodyBytes, shape }, { ...model, bounds }),
    };
  };
  const maxTokenBytes = () => boundsNow()?.maxTokenBytes;
  const readOptions = {
    toolNames: new Set(tools.map((tool) => tool.name)),
    logprobs: sampling.logprobs ?? false,
    isHeld: !stream,
  };
  return {
    errors: chatErrors,
    request: ({ route, target }, endpoint, continuation) => {
      const { cluster, headers, path, query = '' } = route.backend;
      const call = {
        cluster: cluster.name,
        backend: cluster.backend,
        endpoint: endpoint.name,
        authority: endpoint.authority,
        headers,
        affinity,
        path: `${path}/chat/completions${query}`,
        accept: stream ? 'text/event-stream' : 'application/json',
      } as const;
      hasSentPartial ||= continuation?.partial !== undefined;
      const isFirst = continuation === undefined && round === undefined;
      const body = prepared.bodyFor(isFirst ? target : { ...target, continuation, round });
      return body instanceof Promise
        ? body.then((bytes) => ({ ...call, body: sent(bytes) }))
        : { ...call, body: sent(body) };
    },
    reader: (planned, { contentType, choices, answerBegun, keepDeltas }) => {
      const sealing = createStateSealing({ newId, secret: sharedSecret(), of: stateOwner(planned.target) });
      const reader = readResponseAs(contentType, {
        ...readOptions,
        choices,
        answerBegun,
        keepDeltas,
        reasoning: inlineReasoningOf(planned),
        newToolId: (_choice, _tool, call) => dialect.idPrefixes.toolCall + sealing.callId(call),
        sealState: sealing.answerState,
      });
      if (reader === undefined) return undefined;
      const implausible = (): void => watch.progress({ kind: 'implausible-usage', routeId: planned.route.id });
      return checkUsage(reader, {
        model,
        cap,
        choices,
        promptEstimate,
        promptBounds,
        maxTokenBytes,
        implausible,
        mayRepeat: hasSentPartial,
      });
    },
    continuation: ({ route }) => {
      const { continuation: mark, continuesReasoning = false } = capabilitiesOf(route);
      return { mark, reasoning: continuesReasoning };
    },
  };
}
