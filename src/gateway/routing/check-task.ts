import { answerPaths } from '../../core/api-paths.ts';
import { kindOfModel, type Model, type ModelKind } from '../../core/catalog.ts';
import { Failure } from '../../core/failure.ts';
import type { PreparedRequest, PromptCounting, Tokenizers } from '../../core/prompt.ts';
import type { Request, Task } from '../../core/request.ts';

/** What the models of a kind do, and where. */
const uses: Readonly<Record<ModelKind, { readonly does: string; readonly path: string }>> = {
  chat: { does: 'answers in words', path: answerPaths.chat },
  embedding: { does: 'makes embeddings', path: answerPaths.embeddings },
  rerank: { does: 'orders documents', path: answerPaths.rerank },
};

/** Refuses a request whose model is of another kind, and what the model's vectors cannot be. Throws `invalid_request`. */
export function checkTask(model: Model, { task }: Pick<Request, 'task'>): void {
  const kind = kindOfModel(model);
  if (kind !== (task?.kind ?? 'chat')) {
    const { does, path } = uses[kind];
    throw new Failure('invalid_request', `model: ${model.id} ${does}: use POST ${path}`);
  }
  if (task?.kind === 'embedding') checkVectors(model, task);
}

function checkVectors({ id, embedding }: Model, task: Extract<Task, { readonly kind: 'embedding' }>): void {
  if (embedding === undefined) return;
  const { dimensions, shorterDimensions } = embedding;
  if (task.dimensions !== undefined && ![...shorterDimensions, dimensions].includes(task.dimensions)) {
    const shorter = shorterDimensions.length === 0 ? '' : `${shorterDimensions.join(', ')} or `;
    throw new Failure(
      'invalid_request',
      `dimensions: expected ${shorter}${dimensions}, the vectors of ${id} have no other length`,
    );
  }
  if (task.tokenIds !== undefined && !embedding.tokenIds) {
    throw new Failure(
      'invalid_request',
      `input: expected texts: token ids mean another text to ${id} than to the tokenizer that made them. ` +
        'Clients that send ids have a switch for texts (LangChain: check_embedding_ctx_length=False)',
    );
  }
}

/** The length to which vectors are shortened. Undefined: they stay as they are. */
export function shortenedTo(
  { embedding }: Pick<Model, 'embedding'>,
  { task }: Pick<Request, 'task'>,
): number | undefined {
  if (task?.kind !== 'embedding' || embedding === undefined) return undefined;
  return task.dimensions === embedding.dimensions ? undefined : task.dimensions;
}

/**
 * Refuses inputs of which one does not fit the model's window. Most requests pass by their size alone. The others are counted exactly,
 * input by input. Without a tokenizer, or without its count, the engine decides. Throws `context_length_exceeded` with the index.
 * Returns the lengths to which the tokenizer cuts documents. Undefined: it cuts none.
 */
export async function checkInputs(
  prepared: PreparedRequest,
  task: Task,
  options: {
    readonly model: Model;
    readonly tokenizers: Pick<Tokenizers, 'boundsOf'>;
    readonly counting: PromptCounting | undefined;
  },
): Promise<readonly number[] | undefined> {
  const { model, tokenizers, counting } = options;
  const limit = model.contextLength;
  if (task.kind === 'embedding' && task.tokenIds !== undefined) {
    const at = task.tokenIds.findIndex((tokens) => tokens > limit);
    if (at !== -1) throw inputTooLong(model, task, at);
    return undefined;
  }
  if (counting === undefined) return undefined;
  const maxEach = task.kind === 'rerank' ? task.maxTokensPerDocument : undefined;
  const { tokensPerByte, around = 0 } = tokenizers.boundsOf(counting.tokenizerPath) ?? {};
  const most = tokensPerByte === undefined ? Infinity : prepared.shape.bodyBytes * tokensPerByte + around;
  if (most <= Math.min(limit, maxEach ?? Infinity)) return maxEach === undefined ? undefined : [];
  const count = await prepared.countPrompt({ ...counting, want: 'fit', limit });
  if (count.kind === 'over') throw inputTooLong(model, task, count.at);
  return count.kind === 'unknown' ? undefined : count.lengths;
}

/** The refusal of an input that does not fit the model's window. `at`: its message; undefined: an engine has refused one of them. */
export function inputTooLong(
  { contextLength }: Pick<Model, 'contextLength'>,
  task: Task,
  at: number | undefined,
): Failure {
  return new Failure(
    'context_length_exceeded',
    `${fieldAt(task, at)}: too long: this model's maximum context length is ${contextLength} tokens for ${unitOf(task)}: shorten or split it`,
  );
}

const unitOf = ({ kind }: Task): string => (kind === 'rerank' ? 'the query and one document' : 'each');

function fieldAt(task: Task, at: number | undefined): string {
  if (task.kind === 'rerank') {
    if (at === undefined) return 'documents';
    return at === 0 ? 'query' : `documents[${at - 1}]`;
  }
  return at === undefined || task.inputs === 1 ? 'input' : `input[${at}]`;
}
