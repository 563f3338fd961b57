import type { AnswerEvent, Logprobs, ReadStep, ResponseReader } from '../../src/core/event.ts';
import { Failure } from '../../src/core/failure.ts';
import { type TagSetName, tagSets } from '../../src/core/capability.ts';
import { costOf, type Usage } from '../../src/core/money.ts';
import { createJsonReader, createStreamReader } from '../../src/gateway/dialects/engine/read-response.ts';
import { createJsonWriter, createStreamWriter } from '../../src/gateway/dialects/chat/write-response.ts';
import { tinyPrices } from '../support/route-of.ts';

/** How an answer comes, and in which form a caller gets it. */
export type Kind = 'sse' | 'json';

export interface Ask {
  readonly choices: number;
  readonly tools: readonly string[];
  /** Tag sets of the route, by name. */
  readonly tags?: readonly TagSetName[];
  readonly implicitOpen?: boolean;
  readonly answerBegun?: boolean;
}

const usualToolId = (choice: number, tool: number): string => `call_${choice}_${tool}`;

export function readerOf(
  kind: Kind,
  { choices, tools, tags, implicitOpen = false, answerBegun = false }: Ask,
  newToolId: (choice: number, tool: number) => string = usualToolId,
): ResponseReader {
  const inline = tags === undefined ? {} : { reasoning: { tags: tags.map((name) => tagSets[name]), implicitOpen } };
  const options = { choices, toolNames: new Set(tools), newToolId, answerBegun, ...inline };
  return kind === 'sse' ? createStreamReader(options) : createJsonReader(options);
}

export interface Reading {
  readonly events: readonly AnswerEvent[];
  readonly end: ReadStep['state'];
}

/** Reads to the end, as dispatch does: what follows a complete answer or a fault is not read. */
export function read(reader: ResponseReader, pieces: readonly Uint8Array[]): Reading {
  const events: AnswerEvent[] = [];
  for (const piece of pieces) {
    const step = reader.push(piece);
    events.push(...step.events);
    if (step.state !== 'open') return { events: merge(events), end: step.state };
  }
  const step = reader.end();
  return { events: merge([...events, ...step.events]), end: step.state };
}

function joinLogprobs(a: Logprobs | undefined, b: Logprobs | undefined): { readonly logprobs?: Logprobs } {
  if (a === undefined && b === undefined) return {};
  const join = (name: 'content' | 'refusal') =>
    a?.[name] || b?.[name] ? { [name]: [...(a?.[name] ?? []), ...(b?.[name] ?? [])] } : {};
  return { logprobs: { ...join('content'), ...join('refusal') } };
}

/**
 * Pieces of the same text that follow each other are one, and running totals between them count once: how they are grouped
 * depends on how bytes arrive.
 */
function merge(events: readonly AnswerEvent[]): readonly AnswerEvent[] {
  const merged: AnswerEvent[] = [];
  for (const event of events) {
    const last = merged.at(-1);
    const [before, older] = [merged.at(-3), merged.at(-2)];
    if (event.type === 'usage' && last?.type === 'usage') {
      merged[merged.length - 1] = event;
      continue;
    }
    const isPiece = last !== undefined && ('deltas' in last || last.type === 'tool-delta');
    if (event.type === 'usage' && older?.type === 'usage' && isPiece && before?.type === last.type) {
      merged.splice(-3, 3, ...merge([before, last]), event);
      continue;
    }
    if (event.type === 'tool-delta' && last?.type === 'tool-delta' && last.choice === event.choice && last.tool === event.tool) {
      merged[merged.length - 1] = { ...last, text: last.text + event.text };
    } else if ('deltas' in event && last?.type === event.type && 'deltas' in last && last.choice === event.choice) {
      const { logprobs: _, ...rest } = last;
      const sum = { text: last.text + event.text, deltas: last.deltas + event.deltas };
      merged[merged.length - 1] = { ...rest, ...sum, ...joinLogprobs(last.logprobs, event.logprobs) };
    } else merged.push(event);
  }
  return merged;
}

export const printReading = ({ events, end }: Reading): string =>
  `{"events": [\n${events.map((event) => `  ${JSON.stringify(event)}`).join(',\n')}\n],\n"end": ${JSON.stringify(end)}}\n`;

const identity = { id: 'chatcmpl-golden', created: 1_780_000_000, model: 'demo/tiny' };
const nothing: Usage = { promptTokens: 0, completionTokens: 0 };

function usageIn(events: readonly AnswerEvent[]): Usage {
  return events.reduce((usage, event) => (event.type === 'usage' ? event.usage : usage), nothing);
}

export function write({ events, end }: Reading, kind: Kind): string {
  const usage = usageIn(events);
  const bill = { usage, cost: costOf(usage, tinyPrices) };
  if (kind === 'json') {
    const writer = createJsonWriter(identity);
    writer.push(events);
    return `${writer.finish(bill)}\n`;
  }
  const writer = createStreamWriter(identity, { includeUsage: true });
  const answer = writer.push(events);
  return answer + (end === 'complete' ? writer.finish(bill) : writer.fail(new Failure('stream_interrupted', 'The answer was interrupted.')));
}
