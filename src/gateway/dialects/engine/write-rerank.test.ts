import { describe, expect, it } from 'vitest';
import { targetOf } from '../../../../test/support/route-of.ts';
import type { RequestTarget } from '../../../core/capability.ts';
import type { EngineName } from '../../../core/engine-name.ts';
import { readRequest } from '../rerank/read-request.ts';
import { writeRerank } from './write-rerank.ts';
import { textOf } from './write-task.ts';

const body = { model: 'demo/rerank', query: 'q', documents: ['a', { text: 'b', id: 7 }, 'c'], top_n: 1 };

function written(engine: EngineName, more: object = {}, target: Partial<RequestTarget> = {}): unknown {
  const { messages, task } = readRequest({ ...body, ...more });
  const texts = messages.map(textOf);
  if (task?.kind !== 'rerank') return expect.fail('no task');
  return JSON.parse(writeRerank(texts, task, { ...targetOf('a'), engine, upstreamModel: 'up', ...target }));
}

describe('the body of a call', () => {
  it('asks for all documents, however few the caller wants', () => {
    expect(written('llamacpp')).toEqual({ model: 'up', query: 'q', documents: ['a', 'b', 'c'], top_n: 3 });
    expect(written('infinity')).toEqual({ model: 'up', query: 'q', documents: ['a', 'b', 'c'], top_n: 3 });
  });

  it('has the form of text-embeddings-inference, which must neither cut nor return texts', () => {
    expect(written('tei')).toEqual({
      query: 'q',
      texts: ['a', 'b', 'c'],
      raw_scores: false,
      return_text: false,
      truncate: false,
    });
  });

  it('has one piece of the documents', () => {
    expect(written('vllm', {}, { piece: { first: 1, count: 1 } })).toMatchObject({ documents: ['b'], top_n: 1 });
  });

  it('does not ask for the documents where an engine returns them unless it is told', () => {
    expect(written('sglang')).toMatchObject({ return_documents: false });
    expect(written('vllm')).not.toHaveProperty('return_documents');
  });

  it('passes the length of a document on where the engine knows it', () => {
    expect(written('vllm', { max_tokens_per_doc: 64 })).toMatchObject({ max_tokens_per_doc: 64 });
    expect(written('llamacpp', { max_tokens_per_doc: 64 })).not.toHaveProperty('max_tokens_per_doc');
  });

  it('has documents that are cut already, and then no length', () => {
    const cut = { documentLengths: [1, 0, 2], piece: { first: 1, count: 2 } };
    const sent = written('vllm', { documents: ['abc', 'def', 'ghi'], max_tokens_per_doc: 2 }, cut);
    expect(sent).toEqual({ model: 'up', query: 'q', documents: ['', 'gh'], top_n: 2 });
  });
});
