import type { ModelListObject } from '../../../src/portal/api/catalog.ts';
import { Notice } from '../parts/states.tsx';

/** Names the services that did not answer: the page is incomplete. */
export function ServiceProblems({ services }: { readonly services: ModelListObject['services'] }) {
  const silent = services.filter(({ answers }) => !answers);
  if (silent.length === 0) return null;
  return (
    <Notice tone="warn">
      <h2>{silent.length === services.length ? 'No service answers' : 'Some services do not answer'}</h2>
      <ul>
        {silent.map(({ service, problem }) => (
          <li key={service}>
            <code>{service}</code>
            {problem !== null && `: ${problem}`}
          </li>
        ))}
      </ul>
    </Notice>
  );
}
