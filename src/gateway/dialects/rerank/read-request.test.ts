import { describe, expect, it } from 'vitest';
import { maxDocuments } from './schema.ts';
import { readRequest } from './read-request.ts';

const body = { model: 'Demo/Rerank', query: 'what is a weir?', documents: ['a dam', 'a dog'] };

describe('a rerank request', () => {
  it('is read as the query and its documents', () => {
    expect(readRequest(body)).toMatchObject({
      modelName: 'demo/rerank',
      task: { kind: 'rerank', documents: 2 },
      messages: ['what is a weir?', 'a dam', 'a dog'].map((content) => ({ role: 'user', content })),
      stream: false,
      inert: [],
    });
  });

  it('takes documents as objects, and returns them with all of their fields', () => {
    const { messages, task } = readRequest({
      ...body,
      documents: ['a dam', { id: 7, text: 'a dog', tags: ['x'] }],
      return_documents: true,
      top_n: 1,
      max_tokens_per_doc: 512,
    });
    expect(messages.slice(1)).toEqual([
      { role: 'user', content: 'a dam' },
      { role: 'user', content: 'a dog' },
    ]);
    expect(task).toMatchObject({ topN: 1, maxTokensPerDocument: 512 });
    const returned = task?.kind === 'rerank' ? task.returned : undefined;
    expect(returned?.map((text): unknown => JSON.parse(text))).toEqual([
      { text: 'a dam' },
      { text: 'a dog', id: 7, tags: ['x'] },
    ]);
  });

  it('reads null as absent', () => {
    const nulls = { top_n: null, return_documents: null, max_tokens_per_doc: null, rank_fields: null };
    expect(readRequest({ ...body, ...nulls }).task).toEqual({ kind: 'rerank', documents: 2, queryBytes: 15 });
  });

  it('names the fields of clients that have no effect', () => {
    const inert = { rank_fields: ['text'], max_chunks_per_doc: 10, priority: 0, truncation: true };
    expect(readRequest({ ...body, ...inert, else: 1 }).inert).toEqual(Object.keys(inert));
  });

  const many = (count: number) => Array.from({ length: count }, (_, at) => `document ${at}`);

  it.each([
    ['no query', { query: undefined }, /^query: expected string/],
    ['an empty query', { query: '' }, /^query: expected a text that is not blank$/],
    ['a query of blanks', { query: ' \n' }, /^query: expected a text that is not blank$/],
    ['a query that is a list', { query: ['a'] }, /^query: expected string/],
    ['no documents', { documents: undefined }, /^documents: expected array/],
    ['an empty list', { documents: [] }, /^documents: .*>=1/],
    ['an empty document', { documents: ['a', 'b', ''] }, /^documents\[2\]: expected a text that is not blank$/],
    ['a document without text', { documents: ['a', { title: 'b' }] }, /^documents\[1\]\.text: expected string/],
    ['a blank text', { documents: [{ text: ' ' }] }, /^documents\[0\]\.text: expected a text that is not blank$/],
    ['a number for a document', { documents: ['a', 5] }, /^documents\[1\]: expected string.*, or expected object/],
    ['null for a document', { documents: [null] }, /^documents\[0\]: expected string.*, or expected object/],
    ['too many documents', { documents: many(maxDocuments + 1) }, /^documents: .*1000/],
    ['top_n of zero', { top_n: 0 }, /^top_n: .*>=1/],
    ['top_n as text', { top_n: '3' }, /^top_n: expected number/],
    ['half a top_n', { top_n: 1.5 }, /^top_n: expected int/],
    ['a word for return_documents', { return_documents: 'yes' }, /^return_documents: expected boolean/],
    ['max_tokens_per_doc of zero', { max_tokens_per_doc: 0 }, /^max_tokens_per_doc: .*>=1/],
    ['another field to rank', { rank_fields: ['text', 'title'] }, /^rank_fields\[1\]: expected only "text"/],
    ['no model', { model: undefined }, /^model: expected string/],
  ])('is refused with %s', (_, part, message) => {
    expect(() => readRequest({ ...body, ...part })).toThrow(message);
  });

  it('takes as many documents as it says', () => {
    expect(readRequest({ ...body, documents: many(maxDocuments) }).messages).toHaveLength(maxDocuments + 1);
  });
});
