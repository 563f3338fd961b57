// A search over Weir's own pages: PostgreSQL with pgvector has the vectors, Weir makes them.
//   node examples/search/search.mjs                 reads the pages again
//   node examples/search/search.mjs rotate a key    prints the five nearest sections
// Settings: DATABASE_URL, OPENAI_BASE_URL, OPENAI_API_KEY, and MODEL (demo/embed).
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import OpenAI from 'openai';
import pg from 'pg';

const { DATABASE_URL: connectionString, MODEL: model = 'demo/embed' } = process.env;
const root = join(import.meta.dirname, '..', '..');
const weir = new OpenAI();
const database = new pg.Client({ connectionString });

/** A vector of each text, as pgvector reads it. Weir splits what is too much for an engine. */
async function vectorsOf(texts) {
  const { data } = await weir.embeddings.create({ model, input: texts });
  return data.map(({ embedding }) => JSON.stringify(embedding));
}

async function readPages() {
  const sections = globSync('docs/**/*.md', { cwd: root, exclude: ['**/node_modules/**'] }).flatMap((page) =>
    readFileSync(join(root, page), 'utf8')
      .split(/^(?=##+ )/m)
      .map((section) => ({ page, text: section.slice(0, 4000) })),
  );
  const vectors = await vectorsOf(sections.map(({ page, text }) => `${page}\n${text}`));
  await database.query('CREATE EXTENSION IF NOT EXISTS vector');
  await database.query('DROP TABLE IF EXISTS sections');
  await database.query('CREATE TABLE sections (page text, text text, vector vector)');
  const columns = [sections.map(({ page }) => page), sections.map(({ text }) => text), vectors];
  await database.query(
    'INSERT INTO sections SELECT page, text, v::vector FROM unnest($1::text[], $2::text[], $3::text[]) AS s (page, text, v)',
    columns,
  );
  console.log(`${sections.length} sections`);
}

async function search(question) {
  const nearest = 'SELECT page, text, 1 - (vector <=> $1) AS near FROM sections ORDER BY vector <=> $1 LIMIT 5';
  const { rows } = await database.query(nearest, await vectorsOf([question]));
  for (const { page, text, near } of rows) console.log(`${near.toFixed(3)} ${page}: ${text.split('\n', 1)[0]}`);
}

await database.connect();
const question = process.argv.slice(2).join(' ');
await (question === '' ? readPages() : search(question));
await database.end();
