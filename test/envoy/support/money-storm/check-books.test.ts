import { describe, expect, it } from 'vitest';
import { formatUsd } from '../../../../src/core/money.ts';
import type { LedgerRow } from '../../../support/weir.ts';
import { type StormRecord, tagsOf } from './storm-caller.ts';
import { checkBooks, type StormEvidence } from './check-books.ts';
import type { StormRequest } from './storm-kinds.ts';

const prices = { prompt: 150_000n, cached: 30_000n, completion: 600_000n };
/** Of 10 and 5 tokens. */
const cost = 4_500_000n;

const request: StormRequest = {
  ...{ kind: 'stream', model: 'storm/steady', stream: true, includeUsage: true, key: 'rich', directives: {} },
  statuses: [200],
};
const usage = `{"id":"chatcmpl-a","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15,"cost":${formatUsd(cost)}}}`;

function recordOf(fields: Partial<StormRecord> = {}): StormRecord {
  return {
    ...{ mark: 'a', request, replica: 0, sentMs: 1_000, endedMs: 1_100, status: 200, end: 'clean' },
    text: `data: ${usage}\n\ndata: [DONE]\n\n`,
    ...fields,
  };
}

function rowOf(fields: LedgerRow = {}): LedgerRow {
  return {
    ...{ id: 'chatcmpl-a', correlation_id: 'a', outcome: 'completed', attempts: 1, tags: tagsOf(request) },
    ...{ prompt_tokens: 10, completion_tokens: 5, cached_tokens: null, cost: formatUsd(cost) },
    ...fields,
  };
}

const free = { prompt_tokens: 0, completion_tokens: 0, cost: '0' };

function checked(evidence: Partial<StormEvidence> = {}): readonly string[] {
  return checkBooks({
    ...{ records: [recordOf()], rows: [rowOf()], dispatched: new Set(['a']), kills: [], prices, keyExpiresMs: 0 },
    ...evidence,
  });
}

const cutOff = recordOf({ end: 'cut', text: 'data: {"delta":{"content":"One' });
const left = recordOf({ end: 'left', text: 'data: {"delta":{"content":"One' });
const leftAtOnce = recordOf({ end: 'left', status: 0, text: '' });
const killed = [{ replica: 0, atMs: 1_050 }];

const told = 'The level is 405.';
const askedResponse = { ...request, surface: 'responses', stream: false, directives: { content: told } } as const;
const response = (text: string): string =>
  `{"id":"resp_a","output":[{"type":"message","content":[{"type":"output_text","text":"${text}"}]}],"usage":{"input_tokens":10,` +
  `"input_tokens_details":{"cached_tokens":0},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":15,"cost":${formatUsd(cost)}}}`;
const ofResponse = (text: string, stream = false): Partial<StormEvidence> => ({
  records: [recordOf({ request: { ...askedResponse, stream }, text })],
  rows: [rowOf({ id: 'resp_a', tags: tagsOf({ ...askedResponse, stream }) })],
});

describe('the check of a storm', () => {
  it('has nothing to say of books that are right', () => {
    expect(checked()).toEqual([]);
    expect(checked({ records: [cutOff], rows: [], kills: killed })).toEqual([]);
    expect(checked({ records: [left], rows: [rowOf({ outcome: 'cancelled' })] })).toEqual([]);
    expect(checked({ records: [leftAtOnce], rows: [rowOf({ ...free, outcome: 'cancelled' })] })).toEqual([]);
    const cutZero = recordOf({ ...cutOff, request: { ...request, kind: 'counted as zero' } });
    expect(checked({ records: [cutZero], rows: [rowOf(free)], kills: killed })).toEqual([]);
    expect(checked({ records: [recordOf({ status: 503, text: '' })], rows: [] })).toEqual([]);
    expect(checked(ofResponse(response(told)))).toEqual([]);
  });

  it.each<readonly [string, Partial<StormEvidence>]>([
    ['there is no row', { rows: [] }],
    ['its row has the tags null', { rows: [rowOf({ tags: null })] }],
    [
      'its key had expired',
      {
        records: [recordOf({ request: { ...request, key: 'expiring' } })],
        rows: [rowOf({ tags: tagsOf({ ...request, key: 'expiring' }) })],
        keyExpiresMs: 899,
      },
    ],
    ['it has 2 rows', { rows: [rowOf(), rowOf({ id: 'chatcmpl-b' })] }],
    ['chatcmpl-a has two rows', { rows: [rowOf(), rowOf()] }],
    ['nobody asked', { rows: [rowOf(), rowOf({ id: 'chatcmpl-b', correlation_id: 'b' })] }],
    ['what its tokens do not', { rows: [rowOf({ cost: '1' })] }],
    ['another cost', { rows: [rowOf({ prompt_tokens: 11, cost: formatUsd(cost + 150_000n) })] }],
    ['other tokens', { rows: [rowOf({ completion_tokens: 6, cost: formatUsd(cost + 600_000n) })] }],
    ['another answer', { rows: [rowOf({ id: 'chatcmpl-b' })] }],
    ['its row says cancelled', { rows: [rowOf({ outcome: 'cancelled' })] }],
    ['never dispatched', { dispatched: new Set() }],
    ['nobody expected this status', { records: [recordOf({ status: 400 })], rows: [] }],
    ['refused and has a row', { records: [recordOf({ status: 400, request: { ...request, statuses: [400] } })] }],
    ['answered 503 and is billed', { records: [recordOf({ status: 503, text: '' })] }],
    ['cut, and nobody was killed', { records: [cutOff], rows: [] }],
    ['cut, and nobody was killed', { records: [cutOff], kills: [{ replica: 1, atMs: 1_050 }] }],
    ['pays nothing', { records: [left], rows: [] }],
    ['its prompt is free', { records: [left], rows: [rowOf({ ...free, outcome: 'cancelled' })] }],
    ['its prompt is billed', { records: [left], rows: [rowOf({ outcome: 'service-lost' })] }],
    ['1 pieces and pays for 0', { records: [left], rows: [rowOf({ ...free, outcome: 'interrupted' })] }],
    ['never ended', { records: [recordOf({ end: 'hung' })] }],
    ['no usage before [DONE]', { records: [recordOf({ text: 'data: [DONE]\n\n' })] }],
    ['its text is "The level is 40."', ofResponse(response('The level is 40.'))],
    ['its form is wrong', ofResponse(response(told), true)],
    ['without an end', { records: [recordOf({ text: 'data: {}\n\n' })] }],
  ])('finds out that %s', (fault, evidence) => {
    expect(checked(evidence)).toContainEqual(expect.stringContaining(fault));
  });
});
