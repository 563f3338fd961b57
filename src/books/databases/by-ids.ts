/** Most ids in one statement. SQLite takes 32,766 parameters. */
const idsAtOnce = 1_000;

/** Reads rows by their ids, in as many statements as the number of ids needs. */
export async function byIds<Id extends string | number, Row>(
  ids: readonly Id[],
  read: (some: readonly Id[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < ids.length; at += idsAtOnce) rows.push(...(await read(ids.slice(at, at + idsAtOnce))));
  return rows;
}
