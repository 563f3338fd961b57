import { Client } from 'pg';

/** Runs statements on a PostgreSQL server, on a connection of their own. */
export async function runSql(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

/** The location of a schema of a database, for a URL without options. */
export function schemaLocation(url: string, schema: string) {
  const options = encodeURIComponent(`-c search_path=${schema}`);
  return { kind: 'postgres', url: `${url}?options=${options}` } as const;
}
