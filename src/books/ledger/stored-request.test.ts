import fc from 'fast-check';
import { expect, it } from 'vitest';
import { sampleOutcome } from '../../../test/support/sample-outcome.ts';
import { surfaces } from '../../core/dialect.ts';
import { countSources } from '../../core/money.ts';
import { outcomeKinds } from '../../core/settled-request.ts';
import { entriesOf, type ReadRequest, requestColumnNames, requestOf } from './stored-request.ts';

const names = { key: 1, model: 2, route: 3, tags: [5, 7] };
const count = fc.option(fc.nat({ max: 2 ** 31 - 1 }), { nil: undefined });
const few = fc.nat({ max: 2 ** 15 - 1 });

it('reads every field of a request as it was written', () => {
  const outcome = fc
    .record({
      requestId: fc.oneof(
        fc.string({ minLength: 1 }),
        fc.constantFrom('chatcmpl-AZ3xYkBvSi2aTn0qVYl4zQ', 'msg_AZ3xYkBvSi2aTn0qVYl4zQ'),
      ),
      correlationId: fc.oneof(fc.string(), fc.uuid(), fc.constant('00000000-0000-0000-0000-000000000000')),
      routeId: fc.option(fc.constant('a/b@c'), { nil: undefined }),
      surface: fc.constantFrom(...surfaces),
      kind: fc.constantFrom(...outcomeKinds),
      countedBy: fc.constantFrom(...countSources),
      stream: fc.boolean(),
      usage: fc.record({
        promptTokens: fc.nat({ max: 2 ** 31 - 1 }),
        completionTokens: fc.nat({ max: 2 ** 31 - 1 }),
        cachedTokens: count,
        reasoningTokens: count,
        webSearches: fc.option(few, { nil: undefined }),
      }),
      attempts: few,
      routes: fc.option(fc.integer({ min: 1, max: 15 }), { nil: undefined }),
      firstTokenMs: count,
      durationMs: fc.nat({ max: 2 ** 31 - 1 }),
      tags: fc.constantFrom('app=a,team=b', undefined),
      cost: fc.bigInt({ min: 0n, max: 9n * 10n ** 18n }),
    })
    .map((fields) => sampleOutcome(fields));
  fc.assert(
    fc.property(outcome, (settled) => {
      const [entry] = entriesOf([settled], [{ ...names, tagText: settled.tags }]);
      if (entry === undefined) throw new Error('there is no entry');
      const { workspaceId, keyId, modelId, routeId = '' } = settled;
      const row = {
        ...Object.fromEntries(requestColumnNames.map((name, index) => [name, entry.values[index]])),
        ...{
          workspace_id: workspaceId,
          key_id: keyId,
          model_id: modelId,
          route_id: routeId,
          tag_texts: settled.tags ?? '',
        },
      } as unknown as ReadRequest;
      const read = requestOf(row);
      // An id of the service's own form holds the start.
      expect({ ...read, startedAt: 0 }).toEqual({ ...settled, startedAt: 0 });
    }),
  );
});
