import { Link } from 'wouter';
import { withQuery } from '../data/api.ts';
import { modelPath } from '../data/models.ts';
import { formatMoment } from '../format/format.ts';
import { Notice } from '../parts/states.tsx';
import { type Health, useHealth } from '../shell/live-data.ts';

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
      <ProblemItems problems={problems} />
    </Notice>
  );
}

/** Problems with what to do about each. */
export function ProblemItems({ problems }: { readonly problems: Health['problems'] }) {
  return (
    <ul className="problems">
      {problems.map(({ id, object, model, problem, since, action }) => (
        <li key={id}>
          <strong>
            <ProblemObject object={object} model={model} />
          </strong>
          , since <time dateTime={since}>{formatMoment(since)}</time>: {problem}
          <p className="muted">{action}</p>
        </li>
      ))}
    </ul>
  );
}

/** What has the problem, as a link to the page that shows it. Services and the database have no page. */
function ProblemObject({ object, model }: { readonly object: string; readonly model: string | null }) {
  const [kind, name = ''] = object.split('/', 2);
  if (model !== null) return <Link href={modelPath(model)}>{object}</Link>;
  if (kind === 'Backend') return <Link href={withQuery('/backends', { backend: name })}>{object}</Link>;
  return kind === 'Model' ? <Link href="/models">{object}</Link> : object;
}
