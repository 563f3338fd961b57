import type { Command } from 'commander';
import { shownVectorReference } from '../../books/core/shown.ts';
import type { VectorReferenceHead } from '../../core/vector-reference.ts';
import { accountsCommand, byOperator } from './accounts-command.ts';
import { momentText, type TableWidth, textTable } from './tables.ts';

/** Adds `weir model vectors` and `weir model accept-vectors MODEL [--route ID]`: the reference vectors of embedding models. */
export function modelCommand(program: Command): void {
  const group = program.command('model').description('manage the vectors of embedding models');

  accountsCommand(
    group.command('vectors').description('list embedding models with their reference route'),
    async (accounts) => {
      const references = await accounts.listVectorReferences();
      return { json: references.map(shownVectorReference), text: (width) => tableOf(references, width) };
    },
  );

  accountsCommand<{ readonly route?: string }>(
    group
      .command('accept-vectors')
      .description('accept a route’s current vectors as its model’s reference; rebuild search indexes')
      .argument('<model>', 'id of the model')
      .option('--route <id>', 'model@backend (default: the reference route)'),
    async (accounts, { route }, [modelId = '']) => {
      const accepted = await accounts.acceptVectors({ modelId: modelId.toLowerCase(), route }, byOperator());
      return {
        json: shownVectorReference(accepted),
        text: `The next vectors of ${accepted.routeId} are the reference of ${accepted.modelId}. Services probe the route within seconds.`,
      };
    },
  );
}

function tableOf(references: readonly VectorReferenceHead[], width: TableWidth): string {
  return textTable(
    ['MODEL', 'REFERENCE', 'UPSTREAM MODEL', '#DIMENSIONS', 'SINCE'],
    references.map(({ modelId, routeId, upstreamModel, dimensions, since, isAwaited }) => [
      ...[modelId, routeId],
      ...(isAwaited ? ['awaited', ''] : [upstreamModel, String(dimensions)]),
      momentText(since, width),
    ]),
    width,
  );
}
