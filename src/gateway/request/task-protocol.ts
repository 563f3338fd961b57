import type { Piece } from '../../core/capability.ts';
import type { ResponseReader } from '../../core/event.ts';
import type { Task } from '../../core/request.ts';
import type { PlannedRoute } from '../core/plan.ts';
import { chatErrors } from '../dialects/engine/read-error.ts';
import { countOf } from '../dialects/engine/read-field.ts';
import { readRanksAs } from '../dialects/engine/read-ranks.ts';
import { readVectorsAs } from '../dialects/engine/read-vectors.ts';
import type { EngineProtocol, ExpectedAnswer } from '../dispatch/protocol.ts';
import { taskPaths } from '../engines/engine.ts';
import { engines } from '../engines/engines.ts';
import { createEngineCalls, type EngineCallsOptions } from './engine-protocol.ts';

export interface TaskProtocolOptions extends EngineCallsOptions {
  readonly task: Task;
  readonly piece: Piece;
}

/** Writes calls for vectors or for an order of documents, and reads their answers. One protocol serves one piece. */
export function taskProtocol(options: TaskProtocolOptions): EngineProtocol {
  const { task, piece } = options;
  const calls = createEngineCalls(options);
  return {
    errors: chatErrors,
    request: ({ route, target }, endpoint) =>
      calls.write(route, endpoint, {
        path: taskPaths[task.kind],
        besideV1: task.kind === 'rerank' ? engines[route.backend.engine].rerank?.besideV1 : undefined,
        accept: 'application/json',
        target: { ...target, piece },
      }),
    reader: (planned, answer) => {
      const reader = readerOf(answer, planned, options);
      return reader && calls.checked(reader, planned.route, { cap: 0, choices: 1, mayRepeat: false });
    },
    // A whole answer is asked for again.
    continuation: () => ({ mark: 'none', reasoning: false }),
  };
}

/** All inputs of a task, or all its documents. */
export const wholeOf = (task: Task): Piece => ({
  first: 0,
  count: task.kind === 'embedding' ? task.inputs : task.documents,
});

function readerOf(
  { contentType, header }: ExpectedAnswer,
  { route, target }: PlannedRoute,
  { task, piece, plan }: TaskProtocolOptions,
): ResponseReader | undefined {
  switch (task.kind) {
    case 'embedding':
      return readVectorsAs(contentType, {
        inputs: piece.count,
        first: piece.first,
        dimensions: target.shortenTo ?? plan.model.embedding?.dimensions ?? 0,
        encoding: task.encoding,
      });
    case 'rerank': {
      const { scores = 'Probability', tokensHeader } = engines[route.backend.engine].rerank ?? {};
      return readRanksAs(contentType, {
        documents: piece.count,
        first: piece.first,
        scale: route.capabilities.rerankScores ?? scores,
        tokens: tokensHeader === undefined ? undefined : countOf(header(tokensHeader)),
      });
    }
  }
}
