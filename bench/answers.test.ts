import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, test } from 'vitest';
import { askedShape, readShape, renderAnswer, shapeName, shapePath, type AnswerShape } from './answers.ts';
import { verifyAnswer } from './verify-answer.ts';

const shapes: readonly AnswerShape[] = [
  { chunks: 100, pace: { kind: 'burst', writes: 1 }, reasoningChunks: 0 },
  { chunks: 100, pace: { kind: 'burst', writes: 10 }, reasoningChunks: 30 },
  { chunks: 1, pace: { kind: 'burst', writes: 5 }, reasoningChunks: 0 },
  { chunks: 7, pace: { kind: 'apart', gapMs: 20 }, reasoningChunks: 7 },
];

describe.each(shapes)('an answer of $chunks chunks, $pace, $reasoningChunks of them reasoning', (shape) => {
  const answer = renderAnswer(shape);

  test('is asked for by a path that says so, or by the name of the model', () => {
    const asked = askedShape(`${shapePath(shape)}/chat/completions`, '{"model":"bench/1-burst-1"}');
    expect(readShape(asked)).toEqual(shape);
    expect(readShape(askedShape('/v1/chat/completions', `{"model": "bench/${shapeName(shape)}"}`))).toEqual(shape);
  });

  test('is the same text as JSON, as a stream and as a stream with usage', async () => {
    const { text, reasoning } = answer;
    expect(verifyAnswer(await bodyOf([answer.json]), { stream: false, text, reasoning })).toBeUndefined();
    expect(verifyAnswer(await bodyOf(answer.pieces), { stream: true, text, reasoning })).toBeUndefined();
    expect(verifyAnswer(await bodyOf(answer.piecesWithUsage), { stream: true, text, reasoning })).toBeUndefined();
  });

  test('streams one content event per chunk', async () => {
    const events = (await bodyOf(answer.pieces)).match(/"delta":\{"(content|reasoning_content)":" word/g);
    expect(events).toHaveLength(shape.chunks);
  });
});

test('a burst leaves in as many writes as asked for, chunks apart in one each', () => {
  const count = (pace: AnswerShape['pace']): number =>
    renderAnswer({ chunks: 100, pace, reasoningChunks: 0 }).pieces.length;
  expect([
    count({ kind: 'burst', writes: 1 }),
    count({ kind: 'burst', writes: 10 }),
    count({ kind: 'apart', gapMs: 5 }),
  ]).toEqual([1, 10, 100]);
});

test('only a caller that asked for usage gets the usage chunk', async () => {
  const { pieces, piecesWithUsage } = renderAnswer({
    chunks: 3,
    pace: { kind: 'burst', writes: 1 },
    reasoningChunks: 0,
  });
  expect(await bodyOf(pieces)).not.toContain('"usage"');
  expect(await bodyOf(piecesWithUsage)).toContain('"completion_tokens":3');
});

/** The body as an HTTP client reads it. */
async function bodyOf(pieces: readonly Buffer[]): Promise<string> {
  const server = createServer((socket) => {
    socket.once('data', () => pieces.forEach((piece) => socket.write(piece)));
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    return await (await fetch(`http://127.0.0.1:${port}`, { headers: { connection: 'close' } })).text();
  } finally {
    server.close();
  }
}
