import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { ModelObject } from '../../src/portal/api/catalog.ts';
import { PlaygroundPage } from '../src/pages/playground.tsx';
import { memberSession, modelObject } from './support/objects.ts';
import {
  type Answer,
  answerWith,
  changesIn,
  fixedRequestId,
  json,
  refusal,
  type Sent,
  settled,
} from './support/portal.ts';
import { show } from './support/show.tsx';

const ada = memberSession('member', ['playground:use']);

/** An answer that the test writes piece by piece. It breaks off when the reader stops it. */
function stream() {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>(
    undefined,
    { highWaterMark: 100 },
    { highWaterMark: 100 },
  );
  const writer = writable.getWriter();
  const write = (data: unknown) => writer.write(new TextEncoder().encode(`data: ${JSON.stringify(data)}\n\n`));
  const answer: Answer = ({ signal }) => {
    signal?.addEventListener('abort', () => void writer.abort(signal.reason).catch(() => {}));
    return new Response(readable, { headers: { 'content-type': 'text/event-stream' } });
  };
  return {
    answer,
    say: (text: string) => write({ choices: [{ delta: { content: text } }] }),
    write,
    end: async (finish = 'stop') => {
      await write({ choices: [{ delta: {}, finish_reason: finish }] });
      await write({ choices: [], usage: { prompt_tokens: 12, completion_tokens: 3, cost: '0.0004' } });
      await writer.close();
    },
  };
}

function showPlayground(
  chat: Answer,
  {
    models = [modelObject()],
    at = '/playground',
    row = settled(),
    vectors = refusal(500, 'no vectors'),
  }: {
    readonly models?: readonly ModelObject[];
    readonly at?: string;
    readonly row?: Answer;
    readonly vectors?: Answer;
  } = {},
) {
  const sent = answerWith({
    [`GET /requests/${fixedRequestId()}`]: row,
    'POST /playground/embeddings': vectors,
    'GET /models': json({ services: [], data: models, next_cursor: null }),
    'POST /playground/chat': chat,
  });
  return { reader: show(<PlaygroundPage />, { as: ada, at }), sent };
}

type Reader = ReturnType<typeof show>;

async function send(reader: Reader, text = 'Hello'): Promise<void> {
  await waitFor(() => expect(screen.getByRole('button', { name: 'Send' })).toBeEnabled());
  await reader.type(screen.getByLabelText('Message'), `${text}{Enter}`);
}

const answerOf = (model = 'qwen/qwen3-8b') => screen.findByRole('region', { name: `Answer of ${model}` });
const bodies = (sent: readonly Sent[]) => changesIn(sent).map(({ body }) => body);

describe('an answer', () => {
  test('grows while it comes in, and then has the figures of the service', async () => {
    const chat = stream();
    const { reader, sent } = showPlayground(chat.answer);
    await send(reader);
    expect(await answerOf()).toHaveTextContent('The answer is coming in.');
    expect(await answerOf()).toHaveAttribute('aria-busy', 'true');
    await chat.say('Good ');
    await chat.say('morning.');
    expect(await screen.findByText('Good morning.')).toBeVisible();
    await chat.end();
    await expect.poll(() => screen.queryByText('The answer is complete.')).not.toBeNull();
    const figures = /Cost\$0\.00040Time to first token90 msSpeed47\.5 tokens a secondOutput tokens30Prompt tokens120$/;
    await waitFor(async () => expect(await answerOf()).toHaveTextContent(figures));
    expect(sent.find(({ call }) => call.startsWith('POST'))?.headers.get('playground-request-id')).toBe(
      fixedRequestId(),
    );
    expect(screen.getByRole('button', { name: 'Send' })).toBeEnabled();
  });

  test('has its cost before its row is written, and after it if the reader may not see the row', async () => {
    const chat = stream();
    let asked = 0;
    const { reader } = showPlayground(chat.answer, { row: (given) => ((asked += 1), refusal(404, 'none')(given)) });
    await send(reader);
    await chat.say('Good morning.');
    await chat.end();
    await waitFor(async () =>
      expect(await answerOf()).toHaveTextContent(/Cost\$0\.00040.*first token–Speed–Output tokens3Prompt tokens12$/),
    );
    await waitFor(() => expect(asked).toBeGreaterThan(1));
  });

  test('is copied, and asked for once more in its place', async () => {
    const [first, second] = [stream(), stream()];
    let count = 0;
    const { reader, sent } = showPlayground((given) => (count++ === 0 ? first : second).answer(given));
    await send(reader);
    await first.say('One.');
    expect(screen.queryByRole('button', { name: /^Retry/ })).toBeNull();
    await first.end();
    await reader.click(await screen.findByRole('button', { name: 'Copy the answer of qwen/qwen3-8b' }));
    expect(await navigator.clipboard.readText()).toBe('One.');
    await reader.type(screen.getByLabelText('System prompt'), 'Be short.');
    await reader.click(screen.getByRole('button', { name: 'Retry qwen/qwen3-8b' }));
    expect(await answerOf()).toHaveTextContent('The answer is coming in.');
    await second.say('Two.');
    await second.end();
    expect(await screen.findByText('Two.')).toBeVisible();
    expect(screen.queryByText('One.')).toBeNull();
    const question = { role: 'user', content: 'Hello' };
    expect(bodies(sent)).toMatchObject([
      { messages: [question] },
      { messages: [{ role: 'system', content: 'Be short.' }, question] },
    ]);
  });

  test('that is stopped keeps what has arrived, and has the cost that is billed', async () => {
    const chat = stream();
    const { reader, sent } = showPlayground(chat.answer, { row: settled({ outcome: 'cancelled', cost: '0.0002' }) });
    await send(reader);
    await chat.say('Half of');
    await screen.findByText('Half of');
    expect(screen.queryByRole('button', { name: 'Send' })).toBeNull();
    await reader.click(screen.getByRole('button', { name: 'Stop' }));
    expect(await screen.findByText('Stopped. Weir bills the delivered part.')).toBeVisible();
    expect(screen.getByText('Half of')).toBeVisible();
    expect(sent.find(({ call }) => call.startsWith('POST'))?.signal?.aborted).toBe(true);
    await waitFor(async () => expect(await answerOf()).toHaveTextContent(/Cost\$0\.00020Time to first token90 ms/));
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('that is refused says why, and has no figures to ask for', async () => {
    const { reader, sent } = showPlayground(refusal(402, 'The balance is used up.'));
    await send(reader);
    expect(await within(await answerOf()).findByRole('alert')).toHaveTextContent('The balance is used up.');
    expect(sent.filter(({ call }) => call.startsWith('GET /requests'))).toEqual([]);
  });

  test('that breaks off keeps its text and shows the error', async () => {
    const chat = stream();
    const { reader } = showPlayground(chat.answer);
    await send(reader);
    await chat.say('Half of');
    await chat.write({ error: { message: 'The engine has failed.' } });
    expect(await screen.findByRole('alert')).toHaveTextContent('The engine has failed.');
    expect(screen.getByText('Half of')).toBeVisible();
  });

  test.each([
    ['length', 'Cut off: max tokens or the context is used up.'],
    ['content_filter', 'Ended by a content filter.'],
  ])('that ends early (%s) says why', async (finish, words) => {
    const chat = stream();
    const { reader } = showPlayground(chat.answer);
    await send(reader);
    await chat.say('Half of');
    await chat.end(finish);
    expect(await screen.findByText(words)).toBeVisible();
  });

  test('that calls a tool asks for its result, which is sent as one', async () => {
    const chat = stream();
    let count = 0;
    const { reader, sent } = showPlayground((given) =>
      count++ === 0 ? chat.answer(given) : refusal(503, 'Later.')(given),
    );
    await send(reader, 'Weather?');
    const called = { index: 0, id: 'call_1', function: { name: 'weather', arguments: '{"city":"Rome"}' } };
    await chat.write({ choices: [{ delta: { tool_calls: [called] } }] });
    await chat.end('tool_calls');
    const result = await screen.findByLabelText('Result of the calls');
    expect(screen.getByRole('region', { name: 'Arguments of weather' })).toHaveTextContent('"city": "Rome"');
    await reader.type(result, 'sunny{Enter}');
    await screen.findByText('Later.', { exact: false });
    expect(bodies(sent)[1]).toMatchObject({
      messages: [{ role: 'user' }, { role: 'assistant' }, { role: 'tool', tool_call_id: 'call_1', content: 'sunny' }],
    });
  });
});

describe('the settings', () => {
  test.each([
    ['Tools', '{"type": "function"}', /^Expected a list: \[…\]|Expected a list: \[…\]$/],
    ['Tools', '[{"type": ', /Not JSON: /],
    ['Stop', 'a\nb\nc\nd\ne', /At most 4 texts\.$/],
  ])('are not sent while %s is wrong, and the field says so', async (name, text, words) => {
    const { reader, sent } = showPlayground(refusal(500, 'was sent'));
    const field = await screen.findByLabelText(name);
    await reader.click(field);
    await reader.paste(text);
    await send(reader);
    expect(field).toHaveAccessibleDescription(words);
    expect(field).toBeInvalid();
    expect(field).toBeVisible();
    expect(screen.getByLabelText('Message')).toHaveValue('Hello');
    expect(bodies(sent)).toEqual([]);
  });

  test('are sent when they are right', async () => {
    const { reader, sent } = showPlayground(refusal(503, 'Later.'));
    await reader.type(await screen.findByLabelText('Max tokens'), '20');
    await reader.click(screen.getByLabelText('Stop'));
    await reader.paste(String.raw`END\n`);
    await reader.click(screen.getByLabelText('Tools'));
    await reader.paste('[{"type": "function"}]');
    await send(reader);
    await screen.findByText('Later.', { exact: false });
    expect(bodies(sent)[0]).toMatchObject({
      ...{ model: 'qwen/qwen3-8b', max_completion_tokens: 20, stop: ['END\n'], tools: [{ type: 'function' }] },
    });
  });

  test('that one of two models lacks are not shown', async () => {
    const models = [modelObject({ id: 'a' }), modelObject({ id: 'b', tools: false, parameters: ['stop'] })];
    const { reader } = showPlayground(refusal(503, 'Later.'), { models, at: '/playground?model=a' });
    expect(await screen.findByLabelText('Tools')).not.toBeVisible();
    await reader.click(screen.getByText('More'));
    expect(screen.getByLabelText('Tools')).toBeVisible();
    expect(screen.getByLabelText('Temperature')).toBeVisible();
    await reader.selectOptions(screen.getByLabelText('Beside it'), 'b');
    expect(screen.queryByLabelText('Tools')).toBeNull();
    expect(screen.queryByLabelText('Temperature')).toBeNull();
    expect(screen.getByLabelText('Stop')).toBeVisible();
  });
});

test('one of two models may fail: the other answers', async () => {
  const chat = stream();
  const models = [modelObject({ id: 'a' }), modelObject({ id: 'b' })];
  const answer: Answer = (given) =>
    (given.body as { readonly model: string }).model === 'a' ? refusal(502, 'a is down')(given) : chat.answer(given);
  const { reader } = showPlayground(answer, { models, at: '/playground?model=a&with=b' });
  await send(reader);
  expect(await within(await answerOf('a')).findByRole('alert')).toHaveTextContent('a is down');
  await chat.say('I am b.');
  await chat.end();
  expect(await within(await answerOf('b')).findByText('I am b.')).toBeVisible();
});

test('Shift and Enter break the line, and an empty message is not sent', async () => {
  const { reader, sent } = showPlayground(refusal(500, 'was sent'));
  await waitFor(() => expect(screen.getByRole('button', { name: 'Send' })).toBeEnabled());
  await reader.type(screen.getByLabelText('Message'), '{Shift>}{Enter}{/Shift}');
  expect(screen.getByLabelText('Message')).toHaveValue('\n');
  await reader.click(screen.getByRole('button', { name: 'Send' }));
  expect(bodies(sent)).toEqual([]);
});

test('without a model nothing can be sent', async () => {
  showPlayground(refusal(500, 'was sent'), { models: [] });
  expect(await screen.findByRole('button', { name: 'Send' })).toBeDisabled();
  expect(screen.getByRole('button', { name: 'Show as code' })).toBeDisabled();
});

describe('an embedding model', () => {
  const vectors = modelObject({ id: 'v', kind: 'embedding', dimensions: 2 });
  const made = json({
    data: [
      { index: 2, embedding: [0, 5] },
      { index: 0, embedding: [1, 0.5] },
      { index: 1, embedding: [-3, 0] },
      { index: 3, embedding: [0.9, 0.4] },
    ],
  });

  test('shows the first numbers of a vector, the nearest of three texts, and the cost', async () => {
    const models = [modelObject({ id: 'a' }), vectors];
    const row = settled({ cost: '0.0000004', duration_ms: 31, prompt_tokens: 28 });
    const { reader, sent } = showPlayground(refusal(500, 'was sent'), { models, row, vectors: made });
    await screen.findByRole('option', { name: 'v' });
    await reader.selectOptions(screen.getByLabelText('Model'), 'v');
    expect(screen.queryByLabelText('Beside it')).toBeNull();
    expect(screen.queryByLabelText('Message')).toBeNull();
    await reader.clear(screen.getByLabelText('Compare with (third)'));
    await reader.type(screen.getByLabelText('Compare with (third)'), 'closest');
    await reader.click(screen.getByRole('button', { name: 'Make vectors' }));
    const shown = await screen.findByRole('region', { name: 'Vector of v' });
    expect(shown).toHaveTextContent(/Numbers2The first of them1\.0000, 0\.5000Nearest text/);
    const near = within(shown).getAllByRole('listitem');
    expect(near.map(({ textContent }) => textContent)).toEqual([
      'closest cosine 0.999',
      'A boat sailed early in the morning. cosine 0.447',
      'The ship left the harbour at dawn. cosine -0.894',
    ]);
    expect(within(shown).getByText('closest').tagName).toBe('STRONG');
    await waitFor(() => expect(shown).toHaveTextContent(/Cost\$0\.00000040Time31 msPrompt tokens28$/));
    const given = ['The ship left the harbour at dawn.', 'A boat sailed early in the morning.', 'closest'];
    expect(bodies(sent)).toEqual([{ model: 'v', input: ['The vessel put to sea at first light.', ...given] }]);
  });

  test('that fails says why', async () => {
    const { reader } = showPlayground(refusal(500, 'was sent'), {
      ...{ models: [vectors], vectors: refusal(503, 'No Backend answers.') },
    });
    await waitFor(() => expect(screen.getByRole('button', { name: 'Make vectors' })).toBeEnabled());
    await reader.click(screen.getByRole('button', { name: 'Make vectors' }));
    expect(await screen.findByRole('alert')).toHaveTextContent('No Backend answers.');
    expect(screen.queryByRole('region', { name: 'Vector of v' })).toBeNull();
  });
});
