/** Most ids in one statement. SQLite takes 32,766 parameters. */
const idsAtOnce = 1_000;

/** Reads rows by their ids, in as many statements as the number of ids needs. */
export async function byIds<Row>(
  ids: readonly string[],
  read: (some: readonly string[]) => Promise<readonly Row[]>,
): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (let at = 0; at < ids.length; at += idsAtOnce) rows.push(...(await read(ids.slice(at, at + idsAtOnce))));
  return rows;
}
