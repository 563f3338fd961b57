import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { refusal } from '../books/core/operator-refusals.ts';
import { answerRefusal } from './answer-refusal.ts';

/** Folder of the build for files whose names are hashes of their content. */
const assets = '/assets/';

/** A `refresh` of the page itself would not read it again at an address with `#`, as the one is that signs the operator in. */
const reloader = { path: '/not-built.js', text: 'setTimeout(() => location.reload(), 1000);\n' } as const;

const notBuilt = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Weir</title>
<script src="${reloader.path}"></script></head>
<body><h1>The pages are not built yet</h1>
<p><code>npm start</code> builds them, and this page becomes the portal when they are there. Without it, run <code>npm ci</code> and
<code>npm run build</code> in the folder <code>portal</code>.</p>
<p>The admin API works: <a href="/api/openapi.json">/api/openapi.json</a>.</p></body></html>
`;

/**
 * Serves the built pages, also when they are built while the server runs. An address without a file belongs to a page, and gets the
 * application.
 */
export async function servePages(server: FastifyInstance, folder: string): Promise<void> {
  const application = join(folder, 'index.html');
  // Before any file is looked for: the library throws for some of these. Routes of the API read their own parameters.
  server.addHook('onRequest', async ({ routeOptions, url }, reply) =>
    isOfApi(routeOptions.url ?? '') || plainPath(url) !== undefined
      ? undefined
      : answerRefusal(reply, refusal('path_not_found')),
  );
  await server.register(fastifyStatic, {
    root: folder,
    // Serves the `.br` and `.gz` files of the build.
    preCompressed: true,
    cacheControl: false,
    // The folder may come later.
    suppressWarning: true,
    setHeaders: (reply, path) => {
      const isNamedByContent = path.includes(assets);
      reply.header('cache-control', isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache');
    },
  });
  server.get(reloader.path, { schema: { hide: true } }, (_, reply) =>
    reply.type('text/javascript; charset=utf-8').send(reloader.text),
  );
  server.setNotFoundHandler((request, reply) => {
    const isPage = ['GET', 'HEAD'].includes(request.method) && isPagePath(request.url);
    if (!isPage) return answerRefusal(reply, refusal('path_not_found'));
    return existsSync(application)
      ? sendApplication(reply)
      : reply.code(503).type('text/html; charset=utf-8').send(notBuilt);
  });
}

/** The decoded path of an address. Undefined: it cannot be decoded, or its segments are not plain. */
function plainPath(url: string): string | undefined {
  try {
    const path = decodeURIComponent(pathOf(url));
    return /[\0\\]|\/\/|(^|\/)\.\.?(\/|$)/.test(path) ? undefined : path;
  } catch {
    return undefined;
  }
}

/** Whether an address can belong to a page: it is outside the API and the files of the build. */
function isPagePath(url: string): boolean {
  const path = plainPath(url);
  return path !== undefined && !isOfApi(path) && !/^\/assets(\/|$)/.test(path);
}

const isOfApi = (path: string): boolean => /^\/api(\/|$)/.test(path);

const pathOf = (url: string): string => url.split('?')[0] ?? '';

function sendApplication(reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', 'no-cache').sendFile('index.html');
}
