import { type Dispatcher, fetch, type Response } from 'undici';
import type { Headers } from '../../core/headers.ts';
import type { ReasoningSetting, RequestTarget, PartialTurn } from '../../core/capability.ts';
import type { EngineName } from '../../core/engine-name.ts';
import type { AnswerEvent, EngineErrorReading, Fault } from '../../core/event.ts';
import { reasonOf } from '../../core/call-service.ts';
import type { Usage } from '../../core/money.ts';
import { parameterNames } from '../../core/parameters.ts';
import type { Request } from '../../core/request.ts';
import { addToChoice, type AnswerChoice, newChoice } from '../../gateway/core/answer-choice.ts';
import { chatErrors } from '../../gateway/dialects/engine/read-error.ts';
import { readResponseAs } from '../../gateway/dialects/engine/read-response.ts';
import { writeRequest } from '../../gateway/dialects/engine/write-request.ts';

/** The engine under test. */
export interface EngineAddress {
  readonly engine: EngineName;
  /** The address before `/chat/completions`. */
  readonly base: string;
  readonly model: string;
  /** The credential and other headers of each request. */
  readonly headers: Headers;
  /** Query of each request, with its question mark. */
  readonly query?: string | undefined;
  /** How connections are made. Absent: by the system. */
  readonly dispatcher?: Dispatcher | undefined;
}

/** A whole choice of an answer. */
export interface ChoiceAnswer extends AnswerChoice {
  /** Tokens with probabilities. */
  readonly logprobs: unknown[];
}

export type ProbeAnswer =
  | {
      readonly kind: 'answer';
      readonly choices: readonly ChoiceAnswer[];
      readonly usage: Usage | undefined;
      /** Whether usage came before the answer was over. */
      readonly hasRunningUsage: boolean;
    }
  | { readonly kind: 'refused'; readonly status: number; readonly reading: EngineErrorReading }
  | { readonly kind: 'broken'; readonly why: string };

/** A request, as far as it differs from a short plain one. */
export interface Ask extends Partial<Omit<Request, 'modelName' | 'inert' | 'includeUsage' | 'reasoning'>> {
  readonly reasoningSetting?: ReasoningSetting;
  readonly partial?: PartialTurn;
}

/** Asks the engine as Weir does: the same bytes, the same reader. Never rejects. */
export type AskEngine = (ask: Ask) => Promise<ProbeAnswer>;

/** Longest wait for one answer. A large model on a busy engine needs long. */
const timeoutMs = 120_000;

const usualCap = 32;

/** `onOutput`: called when output of a stream has arrived. */
export function connectEngine(
  { engine, base, model, headers, query = '', dispatcher }: EngineAddress,
  onOutput: () => void = () => undefined,
): AskEngine {
  return async (ask) => {
    const { reasoningSetting, partial, ...wanted } = ask;
    const request: Request = {
      modelName: model,
      messages: [{ role: 'user', content: 'Write about the sea.' }],
      tools: [],
      sampling: { temperature: 0 },
      maxOutputTokens: usualCap,
      stream: false,
      ...wanted,
      includeUsage: true,
      inert: [],
    };
    const sent = parameterNames.filter((name) => request.sampling[name] !== undefined);
    const target: RequestTarget = {
      engine,
      upstreamModel: model,
      parameters: sent,
      reasoning: reasoningSetting ?? { enabled: false },
      continuation: partial === undefined ? undefined : { partial, maxOutputTokens: request.maxOutputTokens },
    };
    try {
      const response = await fetch(`${base}/chat/completions${query}`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: request.stream ? 'text/event-stream' : 'application/json',
          ...Object.fromEntries(headers),
        },
        body: writeRequest(request, target),
        redirect: 'manual',
        ...(dispatcher && { dispatcher }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      if (response.status !== 200) {
        const reading = chatErrors.read(response.status, await response.text());
        return { kind: 'refused', status: response.status, reading };
      }
      return await readAnswer(response, request, onOutput);
    } catch (error) {
      return { kind: 'broken', why: reasonOf(error) };
    }
  };
}

async function readAnswer(response: Response, request: Request, onOutput: () => void): Promise<ProbeAnswer> {
  const type = response.headers.get('content-type') ?? '';
  const count = request.sampling.n ?? 1;
  const reader = readResponseAs(type, {
    toolNames: new Set(request.tools.map(({ name }) => name)),
    newToolId: (choice, tool) => `call_${choice}_${tool}`,
    choices: count,
    logprobs: request.sampling.logprobs,
  });
  const isStream = type.toLowerCase().includes('event-stream');
  if (reader === undefined || response.body === null) return { kind: 'broken', why: `the answer is of type "${type}"` };
  if (isStream !== request.stream) {
    await response.body.cancel();
    return { kind: 'broken', why: request.stream ? 'it does not stream' : 'it streams what should come whole' };
  }
  const answer = createAnswer(count);
  for await (const bytes of response.body) {
    const { events, state } = reader.push(bytes);
    if (events.some(({ type }) => type.endsWith('-delta'))) onOutput();
    answer.take(events);
    if (state === 'complete') return answer.outcome();
    if (state !== 'open') return broken(state);
  }
  const { events, state } = reader.end();
  answer.take(events);
  return state === 'complete' ? answer.outcome() : broken(state);
}

const broken = (fault: Fault | 'open'): ProbeAnswer => ({
  kind: 'broken',
  why: fault === 'open' ? 'the answer has no end' : fault.detail,
});

function createAnswer(count: number): {
  readonly take: (events: readonly AnswerEvent[]) => void;
  readonly outcome: () => ProbeAnswer;
} {
  const choices = Array.from({ length: count }, (): ChoiceAnswer => ({ ...newChoice(), logprobs: [] }));
  let usage: Usage | undefined;
  let hasRunningUsage = false;

  function takeOne(event: AnswerEvent): void {
    if (event.type === 'usage') {
      ({ usage } = event);
      if (event.usage.completionTokens > 0) hasRunningUsage ||= choices.some(({ finish }) => finish === undefined);
      return;
    }
    const choice = choices[event.choice];
    if (choice === undefined) return;
    addToChoice(choice, event);
    if (event.type === 'text-delta') choice.logprobs.push(...(event.logprobs?.content ?? []));
  }

  return {
    take: (events) => events.forEach(takeOne),
    outcome: () => ({ kind: 'answer', choices, usage, hasRunningUsage }),
  };
}
