import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { CreatedKeyObject } from '../../src/portal/api/keys.ts';
import { KeyCard } from '../src/pages/key-card.tsx';
import { adminSession, keyObject, modelObject } from './support/objects.ts';
import {
  type Answer,
  answerWith,
  changesIn,
  fixedRequestId,
  json,
  refusal,
  settled,
  silence,
} from './support/portal.ts';
import { show } from './support/show.tsx';

const key = `sk-weir-${'3vKq'.repeat(12)}x`;
const created = (given: Partial<CreatedKeyObject> = {}): CreatedKeyObject => ({ ...keyObject(), key, ...given });
const able = modelObject({ id: 'acme/able' });
const others = [
  modelObject({ id: 'acme/vectors', kind: 'embedding', dimensions: 8 }),
  modelObject({ id: 'acme/plain', tools: false, context_length: null }),
  modelObject({ id: 'acme/hidden', listed: false }),
];

interface Shown {
  readonly of?: Partial<CreatedKeyObject>;
  readonly models?: readonly object[];
  readonly chat?: Answer;
  readonly url?: string | null;
}

function showCard({ of = {}, models = [...others, able], chat = silence, url }: Shown = {}) {
  const sent = answerWith({
    'GET /models': json({ services: [], data: models, next_cursor: null }),
    'POST /playground/chat': chat,
    'POST /playground/embeddings': json({ data: [{ index: 0, embedding: [1, 2, 3] }] }),
    [`GET /requests/${fixedRequestId()}`]: settled(),
  });
  const as = url === undefined ? adminSession : { ...adminSession, gateway_url: url };
  return { reader: show(<KeyCard created={created(of)} onDone={() => {}} />, { as }), sent };
}

const codeOf = async (reader: ReturnType<typeof show>, name: string): Promise<string> => {
  await reader.click(await screen.findByRole('tab', { name }));
  return screen.getByRole<HTMLTextAreaElement>('textbox', { name: new RegExp(`^${name}, `) }).value;
};

const chunks = (...data: readonly object[]): Answer => {
  const text = data.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('');
  return () => new Response(text, { headers: { 'content-type': 'text/event-stream' } });
};

describe('the programs', () => {
  test('have the key, the address and the model filled in, and the key is not in the HTML', async () => {
    const { reader } = showCard({ of: { models: ['acme/able'] } });
    for (const name of ['curl', 'Python', 'Node', 'Claude Code', 'Codex']) {
      const code = await codeOf(reader, name);
      expect(code).toContain(key);
      expect(code).toContain('acme/able');
      expect(code).toContain('https://gateway.example');
      expect(document.body.innerHTML).not.toContain(key);
    }
    expect(await codeOf(reader, 'Claude Code')).toBe(`export ANTHROPIC_BASE_URL=https://gateway.example
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=acme/able
export ANTHROPIC_DEFAULT_HAIKU_MODEL=acme/able
export CLAUDE_CODE_MAX_CONTEXT_TOKENS=32768
export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
claude`);
    expect(await codeOf(reader, 'Codex')).toMatch(/^# Needs the Responses API, which is off by default/);
    await reader.click(screen.getByRole('button', { name: 'Copy Codex example' }));
    expect(await navigator.clipboard.readText()).toContain(`export WEIR_KEY=${key}\n`);
  });

  test.each([
    [['acme/able'], ['acme/able']],
    [['acme/*'], ['acme/able', 'acme/plain', 'acme/vectors']],
    [['other/*', 'able'], []],
  ])('are those of the models that the key may call (%s), the most able first', async (allowed, ids) => {
    showCard({ of: { models: allowed } });
    if (ids.length > 0) await screen.findByLabelText('Model');
    else expect(await screen.findByText('other/*, able')).toBeVisible();
    expect(screen.queryAllByRole('option').map(({ textContent }) => textContent)).toEqual(ids);
  });

  test('say that agents need tools, and an embedding model has none for agents', async () => {
    const { reader } = showCard();
    const choice = await screen.findByLabelText('Model');
    expect(within(choice).queryByRole('option', { name: 'acme/hidden' })).toBeNull();
    await reader.selectOptions(choice, 'acme/plain');
    const code = await codeOf(reader, 'Claude Code');
    expect(code).toMatch(/^# This model calls no tools/);
    expect(code).not.toContain('CONTEXT_TOKENS');
    await reader.selectOptions(choice, 'acme/vectors');
    expect(screen.queryByRole('tab', { name: 'Claude Code' })).toBeNull();
    expect(await codeOf(reader, 'curl')).toContain('/v1/embeddings');
  });

  test('are left out while no model can be called', async () => {
    showCard({ models: [] });
    expect(await screen.findByText('All of the catalog')).toBeVisible();
    expect(screen.queryByRole('tab')).toBeNull();
    expect(screen.queryByRole('button', { name: 'Test it' })).toBeNull();
  });
});

test('the message has the address, the key and its limits as plain text', async () => {
  const budget = { limit: '25', period: 'month' } as const;
  const { reader } = showCard({ of: { budget, expires_at: '2026-12-01T10:00:00.000Z', models: ['acme/able'] } });
  await reader.click(screen.getByRole('button', { name: 'Copy as message' }));
  const text = await navigator.clipboard.readText();
  expect(text).toContain(`Base URL: https://gateway.example/v1
API key: ${key}
Models: acme/able
Budget: $25.00 a month
Expires: Dec 1, 2026, 10:00 UTC
`);
  // Chats read these as markup.
  expect(text).not.toMatch(/[*_`~<>#]/);
  expect(screen.getByText('Budget').nextSibling).toHaveTextContent('$25.00 a month');
});

test('a portal that does not know the address says so, and cannot test', async () => {
  showCard({ url: null });
  expect(screen.getByText(/an admin must set WEIR_PUBLIC_URL/)).toBeVisible();
  expect(await screen.findByRole('tab', { name: 'curl' })).toBeVisible();
  expect(screen.queryByRole('button', { name: 'Test it' })).toBeNull();
});

describe('the test', () => {
  test('makes one call with the new key, and shows the answer and its cost', async () => {
    const usage = { prompt_tokens: 8, completion_tokens: 2, cost: '0.0004' };
    const chat = chunks({ choices: [{ delta: { content: 'Hello there!' } }] }, { choices: [], usage });
    const { reader, sent } = showCard({ chat });
    await reader.click(await screen.findByRole('button', { name: 'Test it' }));
    expect(await screen.findByText('Hello there!', { exact: false })).toHaveTextContent('The key works. Hello there!');
    expect(screen.getByText('Cost').nextSibling).toHaveTextContent('$0.00040');
    expect(changesIn(sent)).toMatchObject([{ body: { model: 'acme/able', max_completion_tokens: 500 } }]);
    const call = sent.find((one) => one.call.startsWith('POST'));
    expect(call?.headers.get('playground-key')).toBe(key);
    expect(call?.query).toEqual({ workspace: 'ws_1' });
    await waitFor(() => expect(screen.getByText('Time to first token').nextSibling).toHaveTextContent('90 ms'));
  });

  test('asks an embedding model for a vector', async () => {
    const { reader, sent } = showCard();
    await reader.selectOptions(await screen.findByLabelText('Model'), 'acme/vectors');
    await reader.click(screen.getByRole('button', { name: 'Test it' }));
    expect(await screen.findByText('The answer is a vector of 3 numbers.', { exact: false })).toBeVisible();
    await waitFor(() => expect(screen.getByText('Cost').nextSibling).toHaveTextContent('$0.00040'));
    expect(changesIn(sent)).toMatchObject([{ call: 'POST /playground/embeddings', body: { model: 'acme/vectors' } }]);
  });

  test('says that it waits', async () => {
    const { reader } = showCard();
    await reader.click(await screen.findByRole('button', { name: 'Test it' }));
    expect(await screen.findByText('Waiting for the answer.')).toBeVisible();
    expect(screen.getByRole('button', { name: 'Test it' })).toBeDisabled();
  });

  test.each([
    [402, /The balance is used up\..*Add credit on the page Balance/],
    [429, /Wait a moment, or raise the limit\./],
    [503, /The page Overview shows what is wrong\./],
    [418, /^The call failed\. The balance is used up\.$/],
  ])('that fails with %i says why and what to do', async (status, words) => {
    const { reader } = showCard({ chat: refusal(status, 'The balance is used up.') });
    await reader.click(await screen.findByRole('button', { name: 'Test it' }));
    expect(await screen.findByRole('alert')).toHaveTextContent(words);
  });
});
