import { useState } from "preact/hooks";
import { problemOf } from "../../api/client";
import { Code } from "../../components/Copy";
import { TextField } from "../../components/TextField";
import { loadSession, login, sessionProblem } from "../../state/session";

/** What somebody sees who is not logged in: a form, or where else to log in. */
export function LoginPage() {
  return <main class="login">{sessionProblem.value?.code === "hosted" ? <Elsewhere /> : <TokenForm />}</main>;
}

/** The application around the dashboard knows its users: a token would be refused. */
function Elsewhere() {
  return (
    <section class="card">
      <Name />
      <p>You are not logged in. The application around this dashboard decides who you are: log in there, then come back.</p>
      <button type="button" class="primary" onClick={() => void loadSession()}>Try again</button>
    </section>
  );
}

/** Asks for a token; the server answers with a session cookie. */
function TokenForm() {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string | null>(null);
  const submit = async () => {
    try {
      await login(token.trim());
    } catch (failure) {
      const problem = problemOf(failure);
      setError(problem.detail || problem.title);
    }
  };
  return (
    <form class="card" onSubmit={(event) => { event.preventDefault(); void submit(); }}>
      <Name />
      <TextField label="Token" type="password" value={token} onChange={setToken} error={error} hint="It is exchanged for a session cookie and not kept in the browser." />
      <button type="submit" class="primary" disabled={!token.trim()}>Log in</button>
      <details>
        <summary>I have no token</summary>
        <p>Somebody with access to the store makes one:</p>
        <Code text="mainstay token create ada --role operator" />
      </details>
    </form>
  );
}

function Name() {
  return <h1><img src="./icon.svg" alt="" width={24} height={24} /> mainstay</h1>;
}
