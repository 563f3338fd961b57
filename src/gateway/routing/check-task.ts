import { answerPaths } from '../../core/api-paths.ts';
import { kindOfModel, type Model, type ModelKind } from '../../core/catalog.ts';
import { Failure } from '../../core/failure.ts';
import type { Request, Task } from '../../core/request.ts';

/** What the models of a kind do, and where. */
const uses: Readonly<Record<ModelKind, { readonly does: string; readonly path: string }>> = {
  chat: { does: 'answers in words', path: answerPaths.chat },
  embedding: { does: 'makes embeddings', path: answerPaths.embeddings },
  rerank: { does: 'orders documents', path: '/v1/rerank' },
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
