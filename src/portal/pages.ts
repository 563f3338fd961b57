import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { answerError, noSuchPath } from './portal-error.ts';

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
  // Before any file is looked for: the library answers some of these with other errors than the API's.
  server.addHook('onRequest', async (request, reply) =>
    isOfApi(request.url) || isPlain(request.url) ? undefined : answerError(reply, noSuchPath()),
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
    if (!isPage) return answerError(reply, noSuchPath());
    return existsSync(application)
      ? sendApplication(reply)
      : reply.code(503).type('text/html; charset=utf-8').send(notBuilt);
  });
}

/** Whether a path decodes to plain segments. */
function isPlain(url: string): boolean {
  try {
    return !/[\0\\]|\/\/|(^|\/)\.\.?(\/|$)/.test(decodeURIComponent(pathOf(url)));
  } catch {
    return false;
  }
}

/** Whether a plain path can belong to a page: it is outside the API and the files of the build. */
const isPagePath = (url: string): boolean => !isOfApi(url) && !/^\/assets(\/|$)/.test(decodeURIComponent(pathOf(url)));

const isOfApi = (url: string): boolean => /^\/api(\/|$)/.test(pathOf(url));

const pathOf = (url: string): string => url.split('?')[0] ?? '';

function sendApplication(reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', 'no-cache').sendFile('index.html');
}
