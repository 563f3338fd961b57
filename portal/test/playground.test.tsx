import { screen, waitFor, within } from '@testing-library/react';
import { describe, expect, test } from 'vitest';
import type { ModelObject } from '../../src/portal/api/catalog.ts';
import { PlaygroundPage } from '../src/pages/playground.tsx';
import { memberSession, modelObject } from './support/objects.ts';
import { type Answer, answerWith, changesIn, json, refusal, type Sent } from './support/portal.ts';
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
  }: { readonly models?: readonly ModelObject[]; readonly at?: string } = {},
) {
  const sent = answerWith({
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
  test('grows while it comes in, and then has its cost', async () => {
    const chat = stream();
    const { reader } = showPlayground(chat.answer);
    await send(reader);
    expect(await answerOf()).toHaveTextContent('The answer is coming in.');
    expect(await answerOf()).toHaveAttribute('aria-busy', 'true');
    await chat.say('Good ');
    await chat.say('morning.');
    expect(await screen.findByText('Good morning.')).toBeVisible();
    await chat.end();
    await expect.poll(() => screen.queryByText('The answer is complete.')).not.toBeNull();
    expect(await answerOf()).toHaveTextContent(/Cost\$0\.00040Prompt tokens12Output tokens3$/);
    expect(screen.getByRole('button', { name: 'Send' })).toBeEnabled();
  });

  test('that is stopped keeps what has arrived, and says that it is billed', async () => {
    const chat = stream();
    const { reader, sent } = showPlayground(chat.answer);
    await send(reader);
    await chat.say('Half of');
    await screen.findByText('Half of');
    expect(screen.queryByRole('button', { name: 'Send' })).toBeNull();
    await reader.click(screen.getByRole('button', { name: 'Stop' }));
    expect(await screen.findByText('Stopped. What was delivered is billed.')).toBeVisible();
    expect(screen.getByText('Half of')).toBeVisible();
    expect(sent.at(-1)?.signal?.aborted).toBe(true);
    expect(screen.queryByRole('alert')).toBeNull();
  });

  test('that is refused says why', async () => {
    const { reader } = showPlayground(refusal(402, 'The balance is used up.'));
    await send(reader);
    expect(await within(await answerOf()).findByRole('alert')).toHaveTextContent('The balance is used up.');
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
    expect(await screen.findByLabelText('Tools')).toBeVisible();
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
