// Sign in: the secret of a login link stands after the #, where no server and no log sees it.

const said = document.getElementById("said");
const link = document.getElementById("link");
const password = document.getElementById("password");

function say(text, bad = true) {
  said.textContent = text;
  said.classList.toggle("bad", bad);
  said.hidden = !text;
}

function sentence(message) {
  if (!message) return "The server answered in a way that this page does not know. Try again.";
  return `${message[0].toUpperCase()}${message.slice(1)}.`;
}

// What was pasted may be the whole link or only what stands after its #.
function secretOf(text) {
  const pasted = text.trim();
  return pasted.slice(pasted.indexOf("#") + 1);
}

async function enter(path, body) {
  say("Signing in …", false);
  let answer;
  try {
    answer = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json", Accept: "application/json" },
      body: JSON.stringify(body),
    });
  } catch {
    say("The server does not answer. Try again when the connection is back.");
    return false;
  }
  if (answer.ok) {
    location.replace(document.body.dataset.next);
    return true;
  }
  const value = await answer.json().catch(() => null);
  say(sentence(value?.error?.message));
  return false;
}

// The link is used up by signing in, so it does not stay in the history either.
function enterByAddress() {
  const secret = location.hash.slice(1);
  if (!secret) return;
  history.replaceState(null, "", location.pathname + location.search);
  enter("/api/login/link", { secret });
}

async function press(form, path, body) {
  const button = form.querySelector("button");
  button.disabled = true;
  if (!(await enter(path, body))) button.disabled = false;
}

link.addEventListener("submit", (event) => {
  event.preventDefault();
  press(link, "/api/login/link", { secret: secretOf(link.elements.link.value) });
});
password?.addEventListener("submit", (event) => {
  event.preventDefault();
  const { name, password: word } = password.elements;
  press(password, "/api/login/password", { name: name.value, password: word.value });
});
addEventListener("hashchange", enterByAddress);
enterByAddress();
