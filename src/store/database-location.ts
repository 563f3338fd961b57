/** Where the accounts and the ledger are. */
export type DatabaseLocation =
  | { readonly kind: 'sqlite'; /** Path of the file. */ readonly file: string }
  | { readonly kind: 'postgres'; /** With its password, where it has one: never to be shown. */ readonly url: string };

/** Names a database in a sentence, without what is secret in its URL. */
export function describeLocation(location: DatabaseLocation): string {
  if (location.kind === 'sqlite') return `the database at ${location.file}`;
  const url = URL.parse(location.url);
  const host = url?.searchParams.get('host') ?? url?.hostname ?? '';
  const place = host === '' ? '' : ` at ${decodeURIComponent(host)}${url?.port ? `:${url.port}` : ''}`;
  return `the PostgreSQL database ${decodeURIComponent(url?.pathname.slice(1) ?? '')}${place}`.trimEnd();
}
