import { existsSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { answerError, noSuchPath } from './portal-error.ts';

/** Folder of the build for files whose names are hashes of their content. */
const assets = '/assets/';

const notBuilt = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Weir</title></head>
<body><h1>The pages are not built</h1>
<p>The admin API works: <a href="/api/openapi.json">/api/openapi.json</a>. To build the pages, run <code>npm start</code>, or
<code>npm ci</code> and <code>npm run build</code> in the folder <code>portal</code>, and start the portal again.</p></body></html>
`;

/** Serves the built pages. An address without a file belongs to a page, and gets the application. */
export async function servePages(server: FastifyInstance, folder: string): Promise<void> {
  const isBuilt = existsSync(join(folder, 'index.html'));
  if (isBuilt) {
    await server.register(fastifyStatic, {
      root: folder,
      // Serves the `.br` and `.gz` files of the build.
      preCompressed: true,
      cacheControl: false,
      setHeaders: (reply, path) => {
        const isNamedByContent = path.includes(assets);
        reply.header('cache-control', isNamedByContent ? 'public, max-age=31536000, immutable' : 'no-cache');
      },
    });
  }
  server.setNotFoundHandler((request, reply) => {
    const isPage = ['GET', 'HEAD'].includes(request.method) && isPagePath(request.url);
    if (!isPage) return answerError(reply, noSuchPath());
    return isBuilt ? sendApplication(reply) : reply.code(503).type('text/html; charset=utf-8').send(notBuilt);
  });
}

/** Whether a path can belong to a page: it decodes to plain segments, and is outside the API and the files of the build. */
function isPagePath(url: string): boolean {
  const [path = ''] = url.split('?');
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return false;
  }
  if (/[\0\\]|\/\/|(^|\/)\.\.?(\/|$)/.test(decoded)) return false;
  return decoded.startsWith('/') && !/^\/(api|assets)(\/|$)/.test(decoded);
}

function sendApplication(reply: FastifyReply): FastifyReply {
  return reply.header('cache-control', 'no-cache').sendFile('index.html');
}
