import { type ReactNode, useEffect } from 'react';
import { Link } from 'wouter';

interface PageProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
  readonly children: ReactNode;
}

/** The head and the content of a page. The title is also the window's title. */
export function Page({ title, about, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Weir`;
  }, [title]);
  return (
    <>
      <header className="page-head">
        <div>
          <h1>{title}</h1>
          {about !== undefined && <p>{about}</p>}
        </div>
        {actions !== undefined && <div className="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

interface CardProps {
  readonly title?: string;
  readonly aside?: ReactNode;
  readonly children: ReactNode;
}

export function Card({ title, aside, children }: CardProps) {
  return (
    <section className="card">
      {title !== undefined && (
        <div className="card-head">
          <h2>{title}</h2>
          {aside}
        </div>
      )}
      {children}
    </section>
  );
}

export interface Fact {
  readonly name: string;
  readonly value: ReactNode;
}

interface FactsProps {
  readonly facts: readonly Fact[];
  /** `rows`: one below the other. */
  readonly as?: 'facts' | 'rows';
}

/** A list of names and values. */
export function Facts({ facts, as = 'facts' }: FactsProps) {
  return (
    <dl className={as}>
      {facts.map(({ name, value }) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** A large number. The whole tile leads to what it counts. */
export function Figure({
  label,
  value,
  note,
  href,
}: {
  readonly label: string;
  readonly value: string;
  readonly note?: ReactNode;
  readonly href?: string | undefined;
}) {
  return (
    <section className="card figure" aria-label={label}>
      {href === undefined ? (
        <span className="small muted">{label}</span>
      ) : (
        <Link className="small figure-link" href={href}>
          {label}
        </Link>
      )}
      <span className="value">{value}</span>
      {note !== undefined && <span className="small muted">{note}</span>}
    </section>
  );
}
