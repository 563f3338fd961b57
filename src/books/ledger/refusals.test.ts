import { describe, expect, it } from 'vitest';
import { sampleDatabase, sampleNow } from '../../../test/support/sample-database.ts';
import { sampleRefusal } from '../../../test/support/sample-refusal.ts';
import type { RefusedRequest } from '../../core/refused-request.ts';
import { maxSamples, refusalRow, refusalsOf } from '../core/refusal.ts';
import { deleteOldRefusals } from '../databases/upkeep.ts';
import { setKeptSince } from './kept-since.ts';
import { findRefusals, pageOfRefusals, type RefusalFilter, writeRefusals } from './refusals.ts';

const minute = 60_000;

async function refused(...requests: readonly Partial<RefusedRequest>[]) {
  const { queries, database } = await sampleDatabase();
  for (const request of requests) await writeRefusals(queries, [refusalRow(sampleRefusal(request))]);
  const list = async (filter: RefusalFilter = {}, limit = 50) => {
    const ids: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await pageOfRefusals(queries, filter, { limit, cursor });
      ids.push(...page.items.map(({ requestId, count }) => `${requestId}×${count}`));
      cursor = page.next;
    } while (cursor !== undefined);
    return ids;
  };
  return { queries, database, list };
}

describe('refusals in the books', () => {
  it('are a row for each key, model, code and minute; a row counts all and knows the first', async () => {
    const { list, queries } = await refused(
      ...Array.from({ length: maxSamples + 3 }, (_, index) => ({ requestId: `a${index}` })),
      { requestId: 'b', code: 'insufficient_funds' },
      { requestId: 'c', keyId: undefined, workspaceId: undefined, modelId: undefined },
      { requestId: 'd', startedAt: sampleNow + minute },
    );
    expect((await list()).toSorted()).toEqual(['a0×8', 'b×1', 'c×1', 'd×1']);
    expect(await findRefusals(queries, 'a4')).toEqual([{ ...sampleRefusal({ requestId: 'a4' }), count: 8 }]);
    expect(await findRefusals(queries, 'a5')).toEqual([]);
    expect(await findRefusals(queries, 'c')).toEqual([
      { ...sampleRefusal({ requestId: 'c', keyId: undefined, workspaceId: undefined, modelId: undefined }), count: 1 },
    ]);
  });

  it('of a surface are those whose row begins with it, whatever a caller writes', async () => {
    const { list } = await refused(
      { requestId: 'a', surface: 'embeddings', correlationId: ',"surface":"rerank",' },
      { requestId: 'b', surface: 'rerank' },
      { requestId: 'c', surface: 'rerank', keyId: 'key_2' },
    );
    expect(await list({ surface: 'embeddings' })).toEqual(['a×2']);
    expect(await list({ surface: 'rerank' })).toEqual(['c×1']);
    expect(await list({ surface: 'chat' })).toEqual([]);
  });

  it('adds several rows at once, in more than one statement', async () => {
    const { queries } = await sampleDatabase();
    const rows = Array.from({ length: 600 }, (_, index) => refusalRow(sampleRefusal({ keyId: `key_${index}` })));
    for (let twice = 0; twice < 2; twice += 1) await writeRefusals(queries, rows);
    const { total, all } = await queries
      .selectFrom('refusals')
      .select(({ fn }) => [fn.sum('count').as('total'), fn.countAll().as('all')])
      .executeTakeFirstOrThrow();
    expect([Number(total), Number(all)]).toEqual([1_200, 600]);
  });

  it('are found by an id of Weir and by the id of the caller, whose own id comes first', async () => {
    const own = { requestId: 'chatcmpl-AZ3xYkBvSi2aTn0qVYl4zQ', startedAt: Number.parseInt('019df162406f', 16) };
    const { queries } = await refused(
      { ...own, correlationId: 'c' },
      { requestId: 'r2', correlationId: own.requestId },
      { requestId: 'r3', correlationId: 'c', startedAt: sampleNow + minute },
      { requestId: 'r4', correlationId: 'x_c' },
    );
    const found = async (id: string) => (await findRefusals(queries, id)).map(({ requestId }) => requestId);
    expect(await found(own.requestId)).toEqual([own.requestId]);
    expect(await found('c')).toEqual(['r3', own.requestId]);
    expect(await found('_')).toEqual([]);
  });

  it('are listed newest first, page by page, by workspace, key, model, time and id', async () => {
    const { list } = await refused(
      { requestId: 'a', startedAt: sampleNow + 1 },
      { requestId: 'b', startedAt: sampleNow + 2, keyId: 'key_2' },
      { requestId: 'c', startedAt: sampleNow + 2 * minute, workspaceId: 'ws_2', keyId: 'key_3' },
      { requestId: 'd', startedAt: sampleNow + 3 * minute, modelId: 'test/other', correlationId: 'here' },
      { requestId: 'e', startedAt: sampleNow + 3 * minute + 1, modelId: 'test/other', correlationId: 'here' },
    );
    expect(await list({}, 1)).toEqual(['d×2', 'c×1', 'b×1', 'a×1']);
    expect(await list({ workspaceId: 'ws_2' })).toEqual(['c×1']);
    expect(await list({ keyId: 'key_2' })).toEqual(['b×1']);
    expect(await list({ modelId: 'test/other' })).toEqual(['d×2']);
    expect(await list({ since: sampleNow + 2, until: sampleNow + 3 * minute })).toEqual(['c×1', 'b×1']);
    expect(await list({ search: 'here' }, 1)).toEqual(['e×2', 'd×2']);
  });

  it('names the limit of each request, and of none that an older version wrote', () => {
    const rows = [refusalRow(sampleRefusal()), refusalRow(sampleRefusal({ limit: 'workspace-tokens' }))];
    const old = refusalRow(sampleRefusal({ limit: undefined }));
    const samples = [...rows, old].map((row) => row.samples).join('');
    expect(refusalsOf({ ...old, samples }).map(({ limit }) => limit)).toEqual(['rate', 'workspace-tokens', undefined]);
  });

  it('keeps the budgets behind the limit', () => {
    const reached = [{ tag: 'team=search', limit: '0.02', spent: '0.0201' }, { limit: '600' }];
    const row = refusalRow(sampleRefusal({ reached }));
    expect(refusalsOf(row)).toMatchObject([{ reached }]);
    const samples = row.samples.replace('"0.02"', '2');
    expect(refusalsOf({ ...row, samples })).toMatchObject([{ limit: 'rate', reached: undefined }]);
  });

  it('leaves out what a newer version has written otherwise', () => {
    const row = refusalRow(sampleRefusal());
    expect(refusalsOf({ ...row, samples: `no\n{"id":1}\n${row.samples}` })).toHaveLength(1);
    expect(refusalsOf({ ...row, code: 'novel' })).toEqual([]);
    const [novel] = refusalsOf({ ...row, samples: row.samples.replace('"rate"', '"novel"') });
    expect(novel).toMatchObject({ code: 'rate_limited', limit: undefined });
  });
});

describe('old refusals', () => {
  const tenMinutes = Array.from({ length: 30 }, (_, index) => ({
    ...{ requestId: `r${index}`, startedAt: sampleNow + index * minute },
  }));

  it('are deleted with the requests of their time, and not before', async () => {
    const { queries, database, list } = await refused(...tenMinutes);
    for await (const step of deleteOldRefusals(database)) expect(step).toBe('more');
    expect(await list()).toHaveLength(30);
    await setKeptSince(queries, sampleNow + 25 * minute);
    for await (const step of deleteOldRefusals(database)) expect(step).toBe('more');
    expect(await list()).toEqual(['r29×1', 'r28×1', 'r27×1', 'r26×1', 'r25×1']);
  });

  it('are deleted beyond a number of rows, the oldest first', async () => {
    const { database, list } = await refused(...tenMinutes);
    for await (const step of deleteOldRefusals(database, 3)) expect(step).toBe('more');
    expect(await list()).toEqual(['r29×1', 'r28×1', 'r27×1']);
  });
});
