import { describe, expect, it } from 'vitest';
import { type Beginnings, beginningsOf, promptDigest, textDigest } from './digests.ts';
import type { Message, Request, Tool } from './request.ts';

const words = (count: number, word = 'lorem '): string => word.repeat(count);
const system = (content: string): Message => ({ role: 'system', content });
const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });
const long = words(200);

function beginnings(messages: readonly Message[], more: Partial<Request> = {}): Beginnings {
  return beginningsOf({
    ...{ modelId: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
    ...{ messages, ...more },
  });
}

const prefixes = (messages: readonly Message[], more: Partial<Request> = {}): readonly number[] =>
  beginnings(messages, more).prefixes;

describe('how a prompt begins', () => {
  it('is digested after the system messages and after each that follows', () => {
    const turn = prefixes([system(long), user('one')]);
    expect(turn).toHaveLength(2);
    expect(prefixes([system(long), user('one'), assistant('two'), user('three')]).slice(0, 2)).toEqual(turn);
    const [shared, own] = prefixes([system(long), user('other')]);
    expect(shared).toBe(turn[0]);
    expect(own).not.toBe(turn[1]);
  });

  it('counts several leading system messages as one beginning', () => {
    expect(prefixes([system(long), system('b'), user('c')])).toHaveLength(2);
    expect(prefixes([system(long)])).toHaveLength(1);
  });

  it.each<readonly [string, readonly Message[], number]>([
    ['nothing', [], 0],
    ['a short prompt', [system(words(80)), user(words(80))], 0],
    ['a kilobyte that is reached later', [system('a'), user('b'), assistant(long), user('c')], 2],
    ['a kilobyte of bytes, not of characters', [user('я'.repeat(512))], 1],
    ['one byte less', [user(`${'я'.repeat(511)}a`)], 0],
  ])('of %s', (_, messages, expected) => {
    expect(prefixes(messages)).toHaveLength(expected);
  });

  const base: readonly Message[] = [system(long), user('one'), assistant('two')];
  const tool: Tool = { name: 'f', parameters: { type: 'object', properties: { a: {}, b: {} } } };
  const call = { id: 'call_1', name: 'f', arguments: '{"a":1}' };
  it.each<readonly [string, readonly Message[], Partial<Request>]>([
    ['another model', base, { modelId: 'demo/other' }],
    ['another role', [system(long), assistant('one'), assistant('two')], {}],
    ['another order', [system(long), user('two'), assistant('one')], {}],
    ['another cut between messages', [system(long), user('onet'), assistant('wo')], {}],
    ['a tool', base, { tools: [tool] }],
    ['a call', [system(long), user('one'), { role: 'assistant', content: 'two', toolCalls: [call] }], {}],
    ['reasoning', [system(long), user('one'), { role: 'assistant', content: 'two', reasoning: 'x' }], {}],
    [
      'an image',
      [
        system(long),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'one' },
            { type: 'image', url: 'https://x/1' },
          ],
        },
        assistant('two'),
      ],
      {},
    ],
    ['a zero at the end', [system(long), user('one'), assistant('two\0')], {}],
  ])('differs by %s', (_, messages, more) => {
    expect(prefixes(messages, more).at(-1)).not.toBe(prefixes(base).at(-1));
  });

  it('differs by what tools are, calls say and images show', () => {
    const withTool = (value: Tool) => prefixes(base, { tools: [value] })[0];
    const swapped = { ...tool, parameters: { type: 'object', properties: { b: {}, a: {} } } };
    expect(new Set([withTool(tool), withTool({ ...tool, description: 'd' }), withTool(swapped)]).size).toBe(3);
    const withCall = (value: typeof call) => prefixes([user(long), { role: 'assistant', toolCalls: [value] }]).at(-1);
    expect(withCall({ ...call, arguments: '{"a":2}' })).not.toBe(withCall(call));
    // An id is made up anew by whoever repeats a conversation, and few templates show it.
    expect(withCall({ ...call, id: 'call_2' })).toBe(withCall(call));
    const withImage = (url: string) => prefixes([{ role: 'user', content: [{ type: 'image', url }] }]);
    expect(withImage('https://x/1')).toHaveLength(1);
    expect(withImage('https://x/2')).not.toEqual(withImage('https://x/1'));
  });

  it('takes text in one part for the text it is', () => {
    const parts = [{ type: 'text', text: long } as const];
    expect(prefixes([{ role: 'user', content: parts }])).toEqual(prefixes([user(long)]));
  });

  it('looks at 64 KiB and no further', () => {
    const book = words(11_000);
    const [digest, ...others] = prefixes([user(book), assistant('a')]);
    expect(others).toEqual([]);
    expect(prefixes([user(`${book}and more`)])).toEqual([digest]);
    expect(prefixes([user(`and more${book}`)])).not.toEqual([digest]);
    const cut = book.slice(0, 64 * 1024);
    expect(prefixes([user(`${cut}a`)])).toEqual(prefixes([user(`${cut}b`)]));
    expect(prefixes([user(`${cut.slice(1)}a`)])).not.toEqual(prefixes([user(`${cut.slice(1)}b`)]));
  });

  it('digests a long conversation’s first boundaries, whatever follows', () => {
    const turns = Array.from({ length: 200 }, (_, index) => user(`turn ${index}`));
    const digests = prefixes([system(long), ...turns]);
    expect(digests).toHaveLength(64);
    expect(prefixes([system(long), ...turns.slice(0, 100)])).toEqual(digests);
  });

  it('rarely gives two beginnings the same digest', () => {
    const digests = Array.from({ length: 50_000 }, (_, index) => prefixes([system(`${index} ${long}`)])[0]);
    expect(new Set(digests).size).toBe(50_000);
    expect(digests.every((digest) => Number.isSafeInteger(digest))).toBe(true);
  });
});

describe('a conversation', () => {
  const conversation = (messages: readonly Message[]): number | undefined => beginnings(messages).conversation;

  it.each<readonly [string, readonly Message[]]>([
    ['with a long system prompt', [system(long), user('one')]],
    ['with a longer one than is digested', [system(words(20_000)), user('one')]],
    ['with several system prompts', [system(words(20_000)), system('b'), user('one')]],
    ['that begins with a long message', [system('a'), user(long)]],
  ])('%s has one digest in all its turns, which others with its system prompt do not have', (_, first) => {
    const digest = conversation(first);
    expect(digest).toBeDefined();
    const later = [...first, assistant('two'), user('three')];
    expect(conversation(later)).toBe(digest);
    expect(conversation([...later, assistant(long), user(long)])).toBe(digest);
    const other = [...first.slice(0, -1), user(`another one ${long}`)];
    expect(conversation(other)).toBeDefined();
    expect(conversation(other)).not.toBe(digest);
  });

  it('has a digest as soon as it has a kilobyte, and keeps it', () => {
    const short = [system('a'), user('b')];
    expect(conversation(short)).toBeUndefined();
    const longer = [...short, assistant(long)];
    expect(conversation([...longer, user('c')])).toBe(conversation(longer));
    expect(conversation([...longer, user('c'), assistant(long), user('d')])).toBe(conversation(longer));
  });

  it('of system messages alone has their digest', () => {
    expect(conversation([system(long)])).toBe(prefixes([system(long)])[0]);
  });
});

describe('a whole prompt', () => {
  const digest = (messages: readonly Message[], more: Partial<Request> = {}): number =>
    promptDigest({
      ...{ modelId: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
      ...{ messages, ...more },
    });
  const plain = digest([system('a'), user('b')]);

  it('has the same digest with other parameters', () => {
    expect(digest([system('a'), user('b')], { sampling: { temperature: 1 }, stream: true })).toBe(plain);
  });

  const farApart = `${'x'.repeat(200_000)}?`;
  it.each<readonly [string, number, number]>([
    ['other words', plain, digest([system('a'), user('c')])],
    ['the same words by others', plain, digest([user('a'), user('b')])],
    ['other borders', plain, digest([system('ab'), user('')])],
    ['one message more', plain, digest([system('a'), user('b'), user('')])],
    ['another model', plain, digest([system('a'), user('b')], { modelId: 'demo/other' })],
    ['tools', plain, digest([system('a'), user('b')], { tools: [{ name: 'f' }] })],
    ['another image', digest([user('a')]), digest([{ role: 'user', content: [{ type: 'image', url: 'https://a' }] }])],
    ['another end of a long text', digest([user(farApart)]), digest([user(`${farApart.slice(0, -1)}!`)])],
    ['another length', digest([user(farApart)]), digest([user(`x${farApart}`)])],
  ])('has another digest with %s', (_, one, other) => {
    expect(one).not.toBe(other);
  });

  it('of a text differs with any of its characters', () => {
    const text = 'y'.repeat(50_000);
    expect(textDigest(text)).toBe(textDigest(text));
    for (const at of [0, 16_383, 16_384, 40_000, 49_999]) {
      expect(textDigest(`${text.slice(0, at)}z${text.slice(at + 1)}`)).not.toBe(textDigest(text));
    }
  });
});
