import { describe, expect, it } from 'vitest';
import { conversationDigest, promptDigest, textDigest } from './digests.ts';
import { blockContents, promptText } from './prompt-text.ts';
import type { Message, Request, Tool } from '../../core/request.ts';

const words = (count: number, word = 'lorem '): string => word.repeat(count);
const system = (content: string): Message => ({ role: 'system', content });
const user = (content: string): Message => ({ role: 'user', content });
const assistant = (content: string): Message => ({ role: 'assistant', content });
const long = words(200);

function conversation(messages: readonly Message[], more: Partial<Request> = {}): number | undefined {
  return conversationDigest({
    ...{ modelName: 'demo/tiny', tools: [], sampling: {}, stream: false, includeUsage: false, inert: [] },
    ...{ messages, ...more },
  });
}

describe('a conversation', () => {
  it.each<readonly [string, readonly Message[]]>([
    ['with a long system prompt', [system(long), user('one')]],
    ['with a longer one than is digested', [system(words(20_000)), user('one')]],
    ['with several system prompts', [system(words(20_000)), system('b'), user('one')]],
    ['that begins with a long message', [system('a'), user(long)]],
    ['with a long history', [system(long), user('one'), ...Array.from({ length: 200 }, () => user('more'))]],
  ])('%s has one digest in all its turns, which others with its system prompt do not have', (_, first) => {
    const digest = conversation(first);
    expect(digest).toBeDefined();
    const later = [...first, assistant('two'), user('three')];
    expect(conversation(later)).toBe(digest);
    expect(conversation([...later, assistant(long), user(long)])).toBe(digest);
    const at = first.findIndex(({ role }) => role === 'user');
    const other = first.map((message, index) => (index === at ? user(`another one ${long}`) : message));
    expect(conversation(other)).toBeDefined();
    expect(conversation(other)).not.toBe(digest);
  });

  it('of system messages alone has a digest, too', () => {
    expect(conversation([system(long)])).toBeDefined();
    expect(conversation([system(long), system('b')])).not.toBe(conversation([system(long)]));
  });

  it.each<readonly [string, readonly Message[], boolean]>([
    ['nothing', [], false],
    ['a short prompt', [system(words(80)), user(words(80))], false],
    ['a kilobyte that is reached later', [system('a'), user('b'), assistant(long), user('c')], true],
    ['a kilobyte of bytes, not of characters', [user('я'.repeat(512))], true],
    ['one byte less', [user(`${'я'.repeat(511)}a`)], false],
  ])('of %s: whether it has a digest', (_, messages, expected) => {
    expect(conversation(messages) !== undefined).toBe(expected);
  });

  it('has a digest as soon as it has a kilobyte, and keeps it', () => {
    const longer = [system('a'), user('b'), assistant(long)];
    expect(conversation([...longer, user('c')])).toBe(conversation(longer));
    expect(conversation([...longer, user('c'), assistant(long), user('d')])).toBe(conversation(longer));
  });

  const base: readonly Message[] = [system('short'), user('one'), assistant(long)];
  const tool: Tool = { name: 'f', parameters: { type: 'object', properties: { a: {}, b: {} } } };
  const call = { id: 'call_1', name: 'f', arguments: '{"a":1}' };
  it.each<readonly [string, readonly Message[], Partial<Request>]>([
    ['another model', base, { modelName: 'demo/other' }],
    ['another role', [system('short'), assistant('one'), assistant(long)], {}],
    ['another order', [system('short'), assistant(long), user('one')], {}],
    ['another cut between messages', [system('short'), user(`one${long.slice(0, 1)}`), assistant(long.slice(1))], {}],
    ['a tool', base, { tools: [tool] }],
    ['a call', [system('short'), user('one'), { role: 'assistant', content: long, toolCalls: [call] }], {}],
    ['reasoning', [system('short'), user('one'), { role: 'assistant', content: long, reasoning: 'x' }], {}],
    [
      'an image',
      [
        system('short'),
        {
          role: 'user',
          content: [
            { type: 'text', text: 'one' },
            { type: 'image', url: 'https://x/1' },
          ],
        },
        assistant(long),
      ],
      {},
    ],
    ['a zero at the end', [system('short'), user('one'), assistant(`${long}\0`)], {}],
  ])('differs by %s', (_, messages, more) => {
    expect(conversation(messages, more)).toBeDefined();
    expect(conversation(messages, more)).not.toBe(conversation(base));
  });

  it('differs by what tools are, calls say and images show', () => {
    const withTool = (value: Tool) => conversation(base, { tools: [value] });
    const swapped = { ...tool, parameters: { type: 'object', properties: { b: {}, a: {} } } };
    expect(new Set([withTool(tool), withTool({ ...tool, description: 'd' }), withTool(swapped)]).size).toBe(3);
    const withCall = (value: typeof call) =>
      conversation([user('a'), { role: 'assistant', content: long, toolCalls: [value] }]);
    expect(withCall({ ...call, arguments: '{"a":2}' })).not.toBe(withCall(call));
    // A client that repeats a conversation makes new ids, and few templates show them.
    expect(withCall({ ...call, id: 'call_2' })).toBe(withCall(call));
    const withImage = (url: string) => conversation([{ role: 'user', content: [{ type: 'image', url }] }]);
    expect(withImage('https://x/1')).toBeDefined();
    expect(withImage('https://x/2')).not.toBe(withImage('https://x/1'));
  });

  it('takes text in one part for the text it is', () => {
    const parts = [{ type: 'text', text: long } as const];
    expect(conversation([{ role: 'user', content: parts }])).toBe(conversation([user(long)]));
  });

  it('is looked at for 64 KiB and no further', () => {
    const book = words(11_000);
    const digest = conversation([user(book), assistant('a')]);
    expect(conversation([user(`${book}and more`)])).toBe(digest);
    expect(conversation([user(`and more${book}`)])).not.toBe(digest);
    const cut = book.slice(0, 64 * 1024);
    expect(conversation([user(`${cut}a`)])).toBe(conversation([user(`${cut}b`)]));
    expect(conversation([user(`${cut.slice(1)}a`)])).not.toBe(conversation([user(`${cut.slice(1)}b`)]));
  });

  it('rarely has the digest of another', () => {
    const digests = Array.from({ length: 50_000 }, (_, index) => conversation([system(`${index} ${long}`)]));
    expect(new Set(digests).size).toBe(50_000);
    expect(digests.every((digest) => Number.isSafeInteger(digest))).toBe(true);
  });
});

describe('a whole prompt', () => {
  const digest = (messages: readonly Message[], more: Partial<Request> = {}): number =>
    promptDigest(more.modelName ?? 'demo/tiny', blockContents(promptText({ messages, tools: [], ...more })));
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
    ['another model', plain, digest([system('a'), user('b')], { modelName: 'demo/other' })],
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
