import { formatMoment } from '../format/format.ts';
import { Notice } from '../parts/states.tsx';
import { useHealth } from '../shell/live-data.ts';

/** The current problems, since when, and what to do. First on the Overview. */
export function CurrentProblems({ isAdmin }: { readonly isAdmin: boolean }) {
  const health = useHealth();
  if (health === undefined) return null;
  const { problems } = health;
  if (problems.length === 0) {
    return (
      <Notice tone="good">
        <p>{isAdmin ? 'No problems.' : 'No problems with any model.'}</p>
      </Notice>
    );
  }
  return (
    <Notice tone="warn">
      <h2>{problems.length === 1 ? '1 current problem' : `${problems.length} current problems`}</h2>
      <ul className="problems">
        {problems.map(({ id, object, problem, since, action }) => (
          <li key={id}>
            <strong>{object}</strong>, since <time dateTime={since}>{formatMoment(since)}</time>: {problem}
            <p className="muted">{action}</p>
          </li>
        ))}
      </ul>
    </Notice>
  );
}
