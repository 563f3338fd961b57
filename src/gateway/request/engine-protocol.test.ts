import { describe, expect, it } from 'vitest';
import type { TokenizerBounds } from '../../core/prompt.ts';
import { createMeter } from '../metering/meter.ts';
import { estimatePrompt } from '../metering/estimate-prompt.ts';
import { endpointOf, modelOf, plannedOf, plannedOfAll, routeOf } from '../../../test/support/route-of.ts';
import { uncounted } from '../../../test/support/uncounted.ts';
import { chatProtocol } from './engine-protocol.ts';
import { prepareHere } from './prepare.ts';

const model = modelOf([routeOf('a')], { contextLength: 65_536 });
const bounds: TokenizerBounds = {
  ...{ tokensPerByte: 1, tokensPerAsciiByte: 1, maxTokenBytes: 64 },
  template: { base: 10, perMessage: 5 },
};
/** A token for each word. */
const wordsOf = (text: string): number => text.trim().split(/\s+/u).length;

interface Claim {
  readonly prompt: string;
  readonly answer: string;
  readonly usage: object;
}

/** Bills an answer whose engine claims this usage, and says how often a claim was called impossible. */
async function bill(
  { prompt, answer, usage }: Claim,
  how: { readonly stream: boolean; readonly hasTokenizer: boolean },
) {
  const { stream, hasTokenizer } = how;
  const counters = hasTokenizer
    ? {
        countPrompt: () => Promise.resolve(wordsOf(prompt) + 9),
        countText: (text: string) => Promise.resolve(wordsOf(text)),
        bounds: () => bounds,
      }
    : undefined;
  const body = JSON.stringify({ model: model.id, messages: [{ role: 'user', content: prompt }], stream });
  const prepared = prepareHere(new TextEncoder().encode(body), { surface: 'chat', countPrompt: uncounted });
  let implausible = 0;
  const protocol = chatProtocol(
    {
      ...{ prepared, counters, round: undefined, cap: undefined },
      watch: { progress: ({ kind }) => (implausible += kind === 'implausible-usage' ? 1 : 0) },
      dialect: { idPrefixes: { request: 'chatcmpl-', toolCall: 'call_' } },
      plan: { model, routes: plannedOfAll(['a']) },
    },
    { newId: () => 'id', sharedSecret: () => 'secret' },
  );
  await protocol.request(plannedOf('a'), endpointOf('a'));
  const contentType = stream ? 'text/event-stream' : 'application/json';
  const reader = protocol.reader(plannedOf('a'), {
    ...{ contentType, header: () => undefined, choices: 1, answerBegun: false, keepDeltas: false },
  });
  const meter = createMeter(estimatePrompt(prepared.shape, model), counters);
  meter.take(reader?.push(new TextEncoder().encode((stream ? streamOf : jsonOf)(answer, usage))).events ?? []);
  meter.take(reader?.end().events ?? []);
  const { usage: billed, countedBy } = await meter.bill('completed');
  return { prompt: billed.promptTokens, output: billed.completionTokens, countedBy, implausible };
}

function streamOf(content: string, usage: object): string {
  const chunks = [
    { choices: [{ index: 0, delta: { content }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
    { choices: [], usage },
  ];
  return `${chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('')}data: [DONE]\n\n`;
}

const jsonOf = (content: string, usage: object): string =>
  JSON.stringify({ choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }], usage });

const ways = [true, false].flatMap((stream) => [true, false].map((hasTokenizer) => ({ stream, hasTokenizer })));
/** 100 KB in 20,000 words, and 10 KB in 2,000. */
const longPrompt = 'word '.repeat(20_000);
const longAnswer = 'word '.repeat(2000);
const claim = (prompt: number, completion: number) => ({ prompt_tokens: prompt, completion_tokens: completion });

describe.each(ways)('counts of an engine (stream: $stream, tokenizer: $hasTokenizer)', (how) => {
  const source = how.hasTokenizer ? 'tokenizer' : 'estimate';
  const of = { longPrompt: how.hasTokenizer ? 20_009 : 16_000, longAnswer: how.hasTokenizer ? 2000 : 1600 };

  it.each([
    ['in earnest', claim(20_040, 2003), 20_040, 2003],
    ['at the lower bounds', claim(1000, 100), 1000, 100],
  ])('are billed: %s', async (_, usage, prompt, output) => {
    expect(await bill({ prompt: longPrompt, answer: longAnswer, usage }, how)).toEqual({
      ...{ prompt, output, countedBy: 'engine', implausible: 0 },
    });
  });

  it.each([
    ['no prompt', claim(0, 2003), of.longPrompt, 2003],
    ['a prompt of one', claim(1, 2003), of.longPrompt, 2003],
    ['a prompt of 400', claim(400, 2003), of.longPrompt, 2003],
    ['no output', claim(20_040, 0), 20_040, of.longAnswer],
    ['an output of 40', claim(20_040, 40), 20_040, of.longAnswer],
    ['nothing at all', claim(0, 0), of.longPrompt, of.longAnswer],
    ['too much of both', claim(65_537, 65_537), of.longPrompt, of.longAnswer],
  ])('are replaced: %s', async (_, usage, prompt, output) => {
    expect(await bill({ prompt: longPrompt, answer: longAnswer, usage }, how)).toEqual({
      ...{ prompt, output, countedBy: source, implausible: 1 },
    });
  });

  it('are replaced: a full window for a word', async () => {
    const usage = claim(32_768, 1);
    expect(await bill({ prompt: 'hi', answer: 'yes', usage }, how)).toMatchObject({
      ...{ prompt: how.hasTokenizer ? 10 : 1, output: 1, implausible: 1 },
    });
  });

  it.each([
    ['more than the prompt', { prompt_tokens_details: { cached_tokens: 99 } }],
    ['more than is a number', { prompt_tokens_details: { cached_tokens: 1e300 } }],
  ])('never take more from the cache than there is prompt: %s', async (_, more) => {
    const usage = { ...claim(12, 1), ...more };
    expect(await bill({ prompt: 'hi', answer: 'yes', usage }, how)).toMatchObject({ prompt: 12, countedBy: 'engine' });
  });
});
