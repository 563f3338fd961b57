import { describe, expect, it } from 'vitest';
import type { AnswerEvent } from '../../core/event.ts';
import { createCiter } from './cite.ts';
import { collectRound } from './collect-round.ts';

const text = (words: string): AnswerEvent => ({ type: 'text-delta', choice: 0, text: words, deltas: 1 });
const thought = (words: string): AnswerEvent => ({ type: 'reasoning-delta', choice: 0, text: words, deltas: 1 });
const start = (tool: number, name: string): AnswerEvent => ({
  type: 'tool-start',
  choice: 0,
  tool,
  id: `id${tool}`,
  name,
});
const piece = (tool: number, words: string): AnswerEvent => ({ type: 'tool-delta', choice: 0, tool, text: words });
const finish: AnswerEvent = { type: 'finish', choice: 0, reason: 'tool_calls' };

const citer = () =>
  createCiter({
    isKnown: (number) => number === 1,
    citationOf: () => ({ url: 'u', title: 't', citedText: '', sealed: 's' }),
  });

describe('one round', () => {
  it('keeps searches from the caller, and numbers the caller’s own calls densely', () => {
    const round = collectRound({ citer: undefined, searches: true });
    const events = [
      ...[text('Hm. '), start(0, 'web_search'), piece(0, '{"query":'), start(1, 'weather'), piece(1, '{}')],
      ...[piece(0, '"x"}'), start(2, 'web_search'), piece(2, '{}'), start(3, 'time'), finish],
    ];
    expect(round.push(events)).toEqual([
      ...[text('Hm. '), { ...start(1, 'weather'), tool: 0 }, { ...piece(1, '{}'), tool: 0 }],
      { ...start(3, 'time'), tool: 1 },
    ]);
    expect(round.output()).toEqual({
      ...{ text: 'Hm. ', reasoning: '', callsCaller: true, finish: { reason: 'tool_calls' } },
      searches: [{ arguments: '{"query":"x"}' }, { arguments: '{}' }],
    });
  });

  it('leaves a tool of that name alone where there is no search', () => {
    const round = collectRound({ citer: undefined, searches: false });
    expect(round.push([start(0, 'web_search')])).toEqual([start(0, 'web_search')]);
    expect(round.output().searches).toEqual([]);
  });

  it('keeps the text with its marks, and returns it without', () => {
    const round = collectRound({ citer: citer(), searches: true });
    const said = [...round.push([thought('So.'), text('It is [cite:1]'), text('. And')]), ...round.flush()];
    expect(said.map((event) => ('text' in event ? event.text : ''))).toEqual(['So.', 'It is', '. ', 'And']);
    expect(round.output()).toMatchObject({ text: 'It is [cite:1]. And', reasoning: 'So.', finish: undefined });
  });

  it.each([
    ['no mark', 'One. Two', 'One. Two'],
    ['a bracket', 'It is [', 'It is'],
    ['a part of a mark', 'It is [cite:1', 'It is'],
    ['the blank before a mark', 'It is ', 'It is'],
    ['a whole mark', 'It is [cite:1]', 'It is'],
  ])('returns the text of a round that broke off without the beginning of a mark: %s', (_, said, expected) => {
    const round = collectRound({ citer: citer(), searches: true });
    const events = [...round.push([text(said)]), ...round.breakOff()];
    expect(events.map((event) => ('text' in event ? event.text : '')).join('')).toBe(expected);
  });

  it.each([
    ['length', 'It is'],
    ['stop', 'It is [cite:1'],
    ['tool_calls', 'It is [cite:1'],
    ['content_filter', 'It is [cite:1'],
  ] as const)('leaves out the beginning of a mark only if the cap has ended the text: %s', (reason, expected) => {
    const round = collectRound({ citer: citer(), searches: true });
    const events = [...round.push([text('It is [cite:1'), { type: 'finish', choice: 0, reason }]), ...round.flush()];
    expect(events.map((event) => ('text' in event ? event.text : '')).join('')).toBe(expected);
  });

  it('returns held-back text before whatever follows it', () => {
    const round = collectRound({ citer: citer(), searches: true });
    const types = round.push([text('One'), thought('t'), text('Two'), start(0, 'f'), text('Three'), finish]);
    expect(types.map((event) => ('text' in event ? event.text : event.type))).toEqual([
      ...['One', 't', 'Two', 'tool-start', 'Three'],
    ]);
  });
});
