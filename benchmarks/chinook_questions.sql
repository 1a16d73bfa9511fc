-- Questions over the Chinook sample database and a right query for each, written for this benchmark.
-- One block a question: the question, then `evidence:` lines (what an episode would declare), then `ordered` where the question asks for an order.

-- How many tracks are there?
SELECT COUNT(*) FROM Track;

-- How many customers live in Brazil?
SELECT COUNT(*) FROM Customer WHERE Country = 'Brazil';

-- How many tracks belong to the genre Jazz?
SELECT COUNT(*) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Jazz';

-- Which albums did Iron Maiden make?
SELECT Album.Title FROM Album JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Iron Maiden';

-- List the ten longest tracks with their length in milliseconds, the longest first.
-- ordered
SELECT Name, Milliseconds FROM Track ORDER BY Milliseconds DESC LIMIT 10;

-- What is the total of all invoices billed to Germany?
SELECT SUM(Total) FROM Invoice WHERE BillingCountry = 'Germany';

-- What is the average invoice total in the year 2023?
SELECT AVG(Total) FROM Invoice WHERE InvoiceDate >= '2023-01-01' AND InvoiceDate < '2024-01-01';

-- Which customers have never been billed more than 10 dollars on one invoice?
SELECT FirstName, LastName FROM Customer WHERE CustomerId NOT IN (SELECT CustomerId FROM Invoice WHERE Total > 10);

-- How many albums does each artist have? Only artists with more than five albums.
SELECT Artist.Name, COUNT(*) FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId GROUP BY Artist.ArtistId, Artist.Name HAVING COUNT(*) > 5;

-- Which employee supports the customer Frank Harris?
SELECT Employee.FirstName, Employee.LastName FROM Employee JOIN Customer ON Customer.SupportRepId = Employee.EmployeeId WHERE Customer.FirstName = 'Frank' AND Customer.LastName = 'Harris';

-- How many customers has each sales agent? Give last names.
SELECT Employee.LastName, COUNT(*) FROM Employee JOIN Customer ON Customer.SupportRepId = Employee.EmployeeId GROUP BY Employee.EmployeeId, Employee.LastName;

-- What is the shortest track on the album Facelift?
SELECT Track.Name FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId WHERE Album.Title = 'Facelift' ORDER BY Track.Milliseconds LIMIT 1;

-- Which playlists contain more than 1000 tracks?
SELECT Playlist.PlaylistId, Playlist.Name FROM Playlist JOIN PlaylistTrack ON Playlist.PlaylistId = PlaylistTrack.PlaylistId GROUP BY Playlist.PlaylistId, Playlist.Name HAVING COUNT(*) > 1000;

-- How many tracks are on the playlist Grunge?
SELECT COUNT(*) FROM PlaylistTrack JOIN Playlist ON PlaylistTrack.PlaylistId = Playlist.PlaylistId WHERE Playlist.Name = 'Grunge';

-- Which genres have no track longer than ten minutes (600000 ms)?
SELECT Name FROM Genre WHERE GenreId NOT IN (SELECT GenreId FROM Track WHERE Milliseconds > 600000);

-- Who are the American customers?
SELECT FirstName, LastName FROM Customer WHERE Country = 'USA';

-- How many Canadian customers are there?
SELECT COUNT(*) FROM Customer WHERE Country = 'Canada';

-- Which French cities do customers come from?
SELECT DISTINCT City FROM Customer WHERE Country = 'France';

-- How many invoices went to British customers?
-- evidence: British means Country = 'United Kingdom'
SELECT COUNT(*) FROM Invoice JOIN Customer ON Invoice.CustomerId = Customer.CustomerId WHERE Customer.Country = 'United Kingdom';

-- What did Czech customers spend altogether?
SELECT SUM(Invoice.Total) FROM Invoice JOIN Customer ON Invoice.CustomerId = Customer.CustomerId WHERE Customer.Country = 'Czech Republic';

-- Which composer wrote the most tracks? Leave out tracks without a composer.
SELECT Composer FROM Track WHERE NOT Composer IS NULL GROUP BY Composer ORDER BY COUNT(*) DESC LIMIT 1;

-- How many tracks have no composer?
SELECT COUNT(*) FROM Track WHERE Composer IS NULL;

-- What is the average length of Rock tracks in milliseconds?
SELECT AVG(Track.Milliseconds) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Rock';

-- Which media types are there, and how many tracks has each?
SELECT MediaType.Name, COUNT(*) FROM MediaType JOIN Track ON MediaType.MediaTypeId = Track.MediaTypeId GROUP BY MediaType.MediaTypeId, MediaType.Name;

-- How many tracks are protected MPEG-4 video files?
SELECT COUNT(*) FROM Track JOIN MediaType ON Track.MediaTypeId = MediaType.MediaTypeId WHERE MediaType.Name = 'Protected MPEG-4 video file';

-- Rank the five countries with the highest invoice totals, highest first.
-- ordered
SELECT BillingCountry, SUM(Total) FROM Invoice GROUP BY BillingCountry ORDER BY SUM(Total) DESC LIMIT 5;

-- How many invoices were written in each year?
SELECT STRFTIME('%Y', InvoiceDate), COUNT(*) FROM Invoice GROUP BY STRFTIME('%Y', InvoiceDate);

-- Which customer spent the most?
SELECT Customer.FirstName, Customer.LastName FROM Customer JOIN Invoice ON Customer.CustomerId = Invoice.CustomerId GROUP BY Customer.CustomerId, Customer.FirstName, Customer.LastName ORDER BY SUM(Invoice.Total) DESC LIMIT 1;

-- What are the names of the tracks on Black Sabbath's album Black Sabbath?
SELECT Track.Name FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Album.Title = 'Black Sabbath' AND Artist.Name = 'Black Sabbath';

-- How many tracks has Metallica in the shop?
SELECT COUNT(*) FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Metallica';

-- Which artists have tracks of the genre Blues?
SELECT DISTINCT Artist.Name FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId JOIN Track ON Album.AlbumId = Track.AlbumId JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Blues';

-- Which artists have no album?
SELECT Artist.Name FROM Artist LEFT JOIN Album ON Artist.ArtistId = Album.ArtistId WHERE Album.AlbumId IS NULL;

-- How many artists have no album at all?
SELECT COUNT(*) FROM Artist WHERE NOT EXISTS(SELECT 1 FROM Album WHERE Album.ArtistId = Artist.ArtistId);

-- Which tracks were never sold? Give the number of them.
SELECT COUNT(*) FROM Track LEFT JOIN InvoiceLine ON Track.TrackId = InvoiceLine.TrackId WHERE InvoiceLine.TrackId IS NULL;

-- What is the highest invoice total?
SELECT MAX(Total) FROM Invoice;

-- When was the first invoice written?
SELECT MIN(InvoiceDate) FROM Invoice;

-- Who was hired last?
SELECT FirstName, LastName FROM Employee ORDER BY HireDate DESC LIMIT 1;

-- Which employees report to Nancy Edwards?
SELECT staff.FirstName, staff.LastName FROM Employee AS staff JOIN Employee AS boss ON staff.ReportsTo = boss.EmployeeId WHERE boss.FirstName = 'Nancy' AND boss.LastName = 'Edwards';

-- Who is the boss of Robert King?
SELECT boss.FirstName, boss.LastName FROM Employee AS staff JOIN Employee AS boss ON staff.ReportsTo = boss.EmployeeId WHERE staff.FirstName = 'Robert' AND staff.LastName = 'King';

-- Which employees live in Lethbridge?
SELECT FirstName, LastName FROM Employee WHERE City = 'Lethbridge';

-- How many employees were born before 1965?
SELECT COUNT(*) FROM Employee WHERE BirthDate < '1965-01-01';

-- Which employee has nobody above them?
SELECT FirstName, LastName FROM Employee WHERE ReportsTo IS NULL;

-- What is the phone number of the company Apple Inc.?
SELECT Phone FROM Customer WHERE Company = 'Apple Inc.';

-- Which customers work for a company? Give company and last name in alphabetical order of the company.
-- ordered
SELECT Company, LastName FROM Customer WHERE NOT Company IS NULL ORDER BY Company;

-- How many customers have a fax?
SELECT COUNT(*) FROM Customer WHERE NOT Fax IS NULL;

-- Which cities have more than one customer?
SELECT City FROM Customer GROUP BY City HAVING COUNT(*) > 1;

-- How many customers are there in each country? Show countries with at least four.
SELECT Country, COUNT(*) FROM Customer GROUP BY Country HAVING COUNT(*) >= 4;

-- What is the most expensive price of a track?
SELECT MAX(UnitPrice) FROM Track;

-- How many tracks cost more than one dollar?
SELECT COUNT(*) FROM Track WHERE UnitPrice > 1;

-- Which genres have tracks that cost more than one dollar?
SELECT DISTINCT Genre.Name FROM Genre JOIN Track ON Genre.GenreId = Track.GenreId WHERE Track.UnitPrice > 1;

-- What revenue did each genre bring? Give the three best, best first.
-- ordered
SELECT Genre.Name, SUM(InvoiceLine.UnitPrice * InvoiceLine.Quantity) FROM InvoiceLine JOIN Track ON InvoiceLine.TrackId = Track.TrackId JOIN Genre ON Track.GenreId = Genre.GenreId GROUP BY Genre.GenreId, Genre.Name ORDER BY SUM(InvoiceLine.UnitPrice * InvoiceLine.Quantity) DESC LIMIT 3;

-- What revenue did Latin music bring?
SELECT SUM(InvoiceLine.UnitPrice * InvoiceLine.Quantity) FROM InvoiceLine JOIN Track ON InvoiceLine.TrackId = Track.TrackId JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Latin';

-- How many tracks did customers from Norway buy?
SELECT SUM(InvoiceLine.Quantity) FROM InvoiceLine JOIN Invoice ON InvoiceLine.InvoiceId = Invoice.InvoiceId JOIN Customer ON Invoice.CustomerId = Customer.CustomerId WHERE Customer.Country = 'Norway';

-- Which tracks did Luis Goncalves buy in 2024?
-- evidence: Luis Goncalves is written Luís Gonçalves
SELECT DISTINCT Track.Name FROM Track JOIN InvoiceLine ON Track.TrackId = InvoiceLine.TrackId JOIN Invoice ON InvoiceLine.InvoiceId = Invoice.InvoiceId JOIN Customer ON Invoice.CustomerId = Customer.CustomerId WHERE Customer.LastName = 'Gonçalves' AND Invoice.InvoiceDate >= '2024-01-01' AND Invoice.InvoiceDate < '2025-01-01';

-- How many lines has invoice number 5?
SELECT COUNT(*) FROM InvoiceLine WHERE InvoiceId = 5;

-- What is the average number of lines per invoice?
SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM InvoiceLine GROUP BY InvoiceId) AS t;

-- How many tracks are there on the average album?
SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM Track GROUP BY AlbumId) AS t;

-- Which album has the most tracks?
SELECT Album.Title FROM Album JOIN Track ON Album.AlbumId = Track.AlbumId GROUP BY Album.AlbumId, Album.Title ORDER BY COUNT(*) DESC LIMIT 1;

-- Which albums have more than 25 tracks?
SELECT Album.Title FROM Album JOIN Track ON Album.AlbumId = Track.AlbumId GROUP BY Album.AlbumId, Album.Title HAVING COUNT(*) > 25;

-- How long is the album Machine Head altogether, in milliseconds?
SELECT SUM(Track.Milliseconds) FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId WHERE Album.Title = 'Machine Head';

-- Which tracks are longer than the average track? Give the number of them.
SELECT COUNT(*) FROM Track WHERE Milliseconds > (SELECT AVG(Milliseconds) FROM Track);

-- Which invoices are above the average total of their country? Give the number of them.
SELECT COUNT(*) FROM Invoice AS a WHERE a.Total > (SELECT AVG(b.Total) FROM Invoice AS b WHERE b.BillingCountry = a.BillingCountry);

-- For each genre, what is its longest track in milliseconds?
SELECT Genre.Name, MAX(Track.Milliseconds) FROM Genre JOIN Track ON Genre.GenreId = Track.GenreId GROUP BY Genre.GenreId, Genre.Name;

-- Number the customers of Portugal by what they spent, most first.
-- ordered
SELECT Customer.LastName, ROW_NUMBER() OVER (ORDER BY SUM(Invoice.Total) DESC) FROM Customer JOIN Invoice ON Customer.CustomerId = Invoice.CustomerId WHERE Customer.Country = 'Portugal' GROUP BY Customer.CustomerId, Customer.LastName ORDER BY SUM(Invoice.Total) DESC;

-- What is the running total of invoices to Chile over time?
-- ordered
SELECT InvoiceDate, SUM(Total) OVER (ORDER BY InvoiceDate) FROM Invoice WHERE BillingCountry = 'Chile' ORDER BY InvoiceDate;

-- Which is the second longest track?
SELECT Name FROM Track ORDER BY Milliseconds DESC LIMIT 1 OFFSET 1;

-- Which track names contain the word Love? Give the number of them.
SELECT COUNT(*) FROM Track WHERE Name LIKE '%Love%';

-- Which albums have Greatest in their title?
SELECT Title FROM Album WHERE Title LIKE '%Greatest%';

-- Which artists' names begin with The? Give the number of them.
SELECT COUNT(*) FROM Artist WHERE Name LIKE 'The %';

-- Which customers have a gmail address?
SELECT FirstName, LastName FROM Customer WHERE Email LIKE '%@gmail.com';

-- How many invoices were billed to Paris or Berlin?
SELECT COUNT(*) FROM Invoice WHERE BillingCity IN ('Paris', 'Berlin');

-- How many tracks are Metal or Heavy Metal?
SELECT COUNT(*) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name IN ('Metal', 'Heavy Metal');

-- How many customers are outside of the USA?
SELECT COUNT(*) FROM Customer WHERE Country <> 'USA';

-- Which customers outside Brazil have Jane Peacock as their agent? Give last names.
SELECT Customer.LastName FROM Customer JOIN Employee ON Customer.SupportRepId = Employee.EmployeeId WHERE Employee.FirstName = 'Jane' AND Employee.LastName = 'Peacock' AND Customer.Country <> 'Brazil';

-- How many invoices were made by customers of Margaret Park?
SELECT COUNT(*) FROM Invoice JOIN Customer ON Invoice.CustomerId = Customer.CustomerId JOIN Employee ON Customer.SupportRepId = Employee.EmployeeId WHERE Employee.FirstName = 'Margaret' AND Employee.LastName = 'Park';

-- What sales did each support agent make in 2022?
SELECT Employee.LastName, SUM(Invoice.Total) FROM Employee JOIN Customer ON Customer.SupportRepId = Employee.EmployeeId JOIN Invoice ON Invoice.CustomerId = Customer.CustomerId WHERE STRFTIME('%Y', Invoice.InvoiceDate) = '2022' GROUP BY Employee.EmployeeId, Employee.LastName;

-- How many invoices were written in March 2021?
SELECT COUNT(*) FROM Invoice WHERE STRFTIME('%Y-%m', InvoiceDate) = '2021-03';

-- Which month of 2025 had the highest revenue?
SELECT STRFTIME('%m', InvoiceDate) FROM Invoice WHERE STRFTIME('%Y', InvoiceDate) = '2025' GROUP BY STRFTIME('%m', InvoiceDate) ORDER BY SUM(Total) DESC LIMIT 1;

-- How many invoices were written between June and August 2022?
SELECT COUNT(*) FROM Invoice WHERE InvoiceDate >= '2022-06-01' AND InvoiceDate < '2022-09-01';

-- Which invoices were written on the last day of 2024's business? Give their ids.
SELECT InvoiceId FROM Invoice WHERE InvoiceDate = (SELECT MAX(InvoiceDate) FROM Invoice WHERE InvoiceDate < '2025-01-01');

-- Give the id and total of the invoices above 20 dollars, largest first.
-- ordered
SELECT InvoiceId, Total FROM Invoice WHERE Total > 20 ORDER BY Total DESC, InvoiceId;

-- Which countries brought less than 40 dollars?
SELECT BillingCountry FROM Invoice GROUP BY BillingCountry HAVING SUM(Total) < 40;

-- What is the smallest and the largest file size of a track in bytes?
SELECT MIN(Bytes), MAX(Bytes) FROM Track;

-- How many different composers are named?
SELECT COUNT(DISTINCT Composer) FROM Track;

-- How many different countries do customers come from?
SELECT COUNT(DISTINCT Country) FROM Customer;

-- Which tracks did Steve Harris compose alone? Give the number of them.
SELECT COUNT(*) FROM Track WHERE Composer = 'Steve Harris';

-- Which albums contain tracks composed by Kurt Cobain?
SELECT DISTINCT Album.Title FROM Album JOIN Track ON Album.AlbumId = Track.AlbumId WHERE Track.Composer = 'Kurt Cobain';

-- Which tracks of U2 are longer than five minutes (300000 ms)?
SELECT Track.Name FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'U2' AND Track.Milliseconds > 300000;

-- Which tracks are between 2 and 2.1 minutes long (120000 to 126000 ms)? Give the number of them.
SELECT COUNT(*) FROM Track WHERE Milliseconds BETWEEN 120000 AND 126000;

-- What does the whole album Jagged Little Pill cost?
SELECT SUM(Track.UnitPrice) FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId WHERE Album.Title = 'Jagged Little Pill';

-- Who made the album Supernatural?
SELECT Artist.Name FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId WHERE Album.Title = 'Supernatural';

-- How many albums has Led Zeppelin?
SELECT COUNT(*) FROM Album JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Led Zeppelin';

-- Which genres does Iron Maiden play?
SELECT DISTINCT Genre.Name FROM Genre JOIN Track ON Genre.GenreId = Track.GenreId JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Iron Maiden';

-- Which artist sold most tracks?
SELECT Artist.Name FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId JOIN Track ON Album.AlbumId = Track.AlbumId JOIN InvoiceLine ON Track.TrackId = InvoiceLine.TrackId GROUP BY Artist.ArtistId, Artist.Name ORDER BY SUM(InvoiceLine.Quantity) DESC LIMIT 1;

-- Give the five best selling artists by revenue with their revenue, best first.
-- ordered
SELECT Artist.Name, SUM(InvoiceLine.UnitPrice * InvoiceLine.Quantity) FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId JOIN Track ON Album.AlbumId = Track.AlbumId JOIN InvoiceLine ON Track.TrackId = InvoiceLine.TrackId GROUP BY Artist.ArtistId, Artist.Name ORDER BY SUM(InvoiceLine.UnitPrice * InvoiceLine.Quantity) DESC LIMIT 5;

-- Which playlists contain a track of Queen?
SELECT DISTINCT Playlist.PlaylistId, Playlist.Name FROM Playlist JOIN PlaylistTrack ON Playlist.PlaylistId = PlaylistTrack.PlaylistId JOIN Track ON PlaylistTrack.TrackId = Track.TrackId JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Queen';

-- Which playlists are empty?
SELECT Playlist.PlaylistId, Playlist.Name FROM Playlist LEFT JOIN PlaylistTrack ON Playlist.PlaylistId = PlaylistTrack.PlaylistId WHERE PlaylistTrack.TrackId IS NULL;

-- How long does the playlist Brazilian Music play, in milliseconds?
SELECT SUM(Track.Milliseconds) FROM Track JOIN PlaylistTrack ON Track.TrackId = PlaylistTrack.TrackId JOIN Playlist ON PlaylistTrack.PlaylistId = Playlist.PlaylistId WHERE Playlist.Name = 'Brazilian Music';

-- How many tracks are on no playlist?
SELECT COUNT(*) FROM Track WHERE TrackId NOT IN (SELECT TrackId FROM PlaylistTrack);

-- Is there a track named Enter Sandman? Give its composer.
SELECT Composer FROM Track WHERE Name = 'Enter Sandman';

-- Who composed Smells Like Teen Spirit?
SELECT DISTINCT Composer FROM Track WHERE Name = 'Smells Like Teen Spirit';

-- Which genre is the track Desafinado?
SELECT DISTINCT Genre.Name FROM Genre JOIN Track ON Genre.GenreId = Track.GenreId WHERE Track.Name = 'Desafinado';

-- On which album is Black Dog by Led Zeppelin?
SELECT DISTINCT Album.Title FROM Album JOIN Track ON Album.AlbumId = Track.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Track.Name = 'Black Dog' AND Artist.Name = 'Led Zeppelin';

-- How many customers does the city of Prague have?
SELECT COUNT(*) FROM Customer WHERE City = 'Prague';

-- What is the address of the customer in Dublin?
SELECT Address FROM Customer WHERE City = 'Dublin';

-- Which customers come from California?
-- evidence: California is State 'CA'
SELECT FirstName, LastName FROM Customer WHERE State = 'CA';

-- How many customers have no state?
SELECT COUNT(*) FROM Customer WHERE State IS NULL;

-- Which titles do employees have, and how many of each?
SELECT Title, COUNT(*) FROM Employee GROUP BY Title;

-- Who are the sales support agents?
SELECT FirstName, LastName FROM Employee WHERE Title = 'Sales Support Agent';

-- How old were employees when they were hired? Give last name and years as the difference of the years.
SELECT LastName, STRFTIME('%Y', HireDate) - STRFTIME('%Y', BirthDate) FROM Employee;

-- Which countries have customers but only one of them?
SELECT Country FROM Customer GROUP BY Country HAVING COUNT(*) = 1;

-- Which customer of Finland spent what altogether?
SELECT Customer.FirstName, Customer.LastName, SUM(Invoice.Total) FROM Customer JOIN Invoice ON Customer.CustomerId = Invoice.CustomerId WHERE Customer.Country = 'Finland' GROUP BY Customer.CustomerId, Customer.FirstName, Customer.LastName;

-- Which country has the highest average invoice?
SELECT BillingCountry FROM Invoice GROUP BY BillingCountry ORDER BY AVG(Total) DESC LIMIT 1;

-- What share of tracks has a composer, between 0 and 1?
SELECT COUNT(Composer) * 1.0 / COUNT(*) FROM Track;

-- How many invoices did each customer of India get?
SELECT Customer.LastName, COUNT(*) FROM Customer JOIN Invoice ON Customer.CustomerId = Invoice.CustomerId WHERE Customer.Country = 'India' GROUP BY Customer.CustomerId, Customer.LastName;

-- Which customers bought tracks of the genre Classical?
SELECT DISTINCT Customer.FirstName, Customer.LastName FROM Customer JOIN Invoice ON Customer.CustomerId = Invoice.CustomerId JOIN InvoiceLine ON Invoice.InvoiceId = InvoiceLine.InvoiceId JOIN Track ON InvoiceLine.TrackId = Track.TrackId JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Classical';

-- How many customers bought something by AC/DC?
SELECT COUNT(DISTINCT Invoice.CustomerId) FROM Invoice JOIN InvoiceLine ON Invoice.InvoiceId = InvoiceLine.InvoiceId JOIN Track ON InvoiceLine.TrackId = Track.TrackId JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'AC/DC';

-- Which track was sold most often at 1.99?
SELECT Track.Name FROM Track JOIN InvoiceLine ON Track.TrackId = InvoiceLine.TrackId WHERE InvoiceLine.UnitPrice = 1.99 GROUP BY Track.TrackId, Track.Name ORDER BY COUNT(*) DESC, Track.Name LIMIT 1;

-- How many TV show tracks are there?
SELECT COUNT(*) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'TV Shows';

-- How many hip hop tracks are there?
SELECT COUNT(*) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Hip Hop/Rap';

-- What is the longest science fiction episode?
SELECT Track.Name FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Science Fiction' ORDER BY Track.Milliseconds DESC LIMIT 1;

-- Which soul tracks are there? Give the number of them.
-- evidence: soul is the genre 'R&B/Soul'
SELECT COUNT(*) FROM Track JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'R&B/Soul';

-- Which genres have fewer than 15 tracks?
SELECT Genre.Name FROM Genre JOIN Track ON Genre.GenreId = Track.GenreId GROUP BY Genre.GenreId, Genre.Name HAVING COUNT(*) < 15;

-- List the invoices of customer 12 from newest to oldest.
-- ordered
SELECT InvoiceId FROM Invoice WHERE CustomerId = 12 ORDER BY InvoiceDate DESC;

-- Which five customers were the first to be billed? Earliest first.
-- ordered
SELECT Customer.FirstName, Customer.LastName FROM Customer JOIN Invoice ON Customer.CustomerId = Invoice.CustomerId GROUP BY Customer.CustomerId, Customer.FirstName, Customer.LastName ORDER BY MIN(Invoice.InvoiceDate), Customer.CustomerId LIMIT 5;

-- How many tracks are bigger than 100 million bytes?
SELECT COUNT(*) FROM Track WHERE Bytes > 100000000;

-- What is the total size in bytes of the tracks by Lost?
SELECT SUM(Track.Bytes) FROM Track JOIN Album ON Track.AlbumId = Album.AlbumId JOIN Artist ON Album.ArtistId = Artist.ArtistId WHERE Artist.Name = 'Lost';

-- Which albums of Deep Purple have more than ten tracks?
SELECT Album.Title FROM Album JOIN Artist ON Album.ArtistId = Artist.ArtistId JOIN Track ON Track.AlbumId = Album.AlbumId WHERE Artist.Name = 'Deep Purple' GROUP BY Album.AlbumId, Album.Title HAVING COUNT(*) > 10;

-- How many invoices went to Madrid, Lisbon or Rome in 2023?
SELECT COUNT(*) FROM Invoice WHERE BillingCity IN ('Madrid', 'Lisbon', 'Rome') AND STRFTIME('%Y', InvoiceDate) = '2023';

-- Which Dutch customers are there?
-- evidence: Dutch customers have Country = 'Netherlands'
SELECT FirstName, LastName FROM Customer WHERE Country = 'Netherlands';

-- What did customers from the Scandinavian countries Norway, Sweden and Denmark spend?
SELECT SUM(Invoice.Total) FROM Invoice JOIN Customer ON Invoice.CustomerId = Customer.CustomerId WHERE Customer.Country IN ('Norway', 'Sweden', 'Denmark');

-- Which customers share their city with an employee?
SELECT Customer.FirstName, Customer.LastName FROM Customer JOIN Employee ON Customer.City = Employee.City GROUP BY Customer.CustomerId, Customer.FirstName, Customer.LastName;

-- Which artists have both Rock and Latin tracks?
SELECT Artist.Name FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId JOIN Track ON Album.AlbumId = Track.AlbumId JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Rock' INTERSECT SELECT Artist.Name FROM Artist JOIN Album ON Artist.ArtistId = Album.ArtistId JOIN Track ON Album.AlbumId = Track.AlbumId JOIN Genre ON Track.GenreId = Genre.GenreId WHERE Genre.Name = 'Latin';

-- Classify invoices as large (at least 10 dollars) or small, and count both.
SELECT CASE WHEN Total >= 10 THEN 'large' ELSE 'small' END, COUNT(*) FROM Invoice GROUP BY CASE WHEN Total >= 10 THEN 'large' ELSE 'small' END;

-- Which customers of Edinburgh are there?
SELECT FirstName, LastName FROM Customer WHERE City LIKE 'Edinburgh%';

-- Which tracks on the playlist On-The-Go 1 are there?
SELECT Track.Name FROM Track JOIN PlaylistTrack ON Track.TrackId = PlaylistTrack.TrackId JOIN Playlist ON PlaylistTrack.PlaylistId = Playlist.PlaylistId WHERE Playlist.Name = 'On-The-Go 1';

-- What is the average price of what the customer Jack Smith bought?
SELECT AVG(InvoiceLine.UnitPrice) FROM InvoiceLine JOIN Invoice ON InvoiceLine.InvoiceId = Invoice.InvoiceId JOIN Customer ON Invoice.CustomerId = Customer.CustomerId WHERE Customer.FirstName = 'Jack' AND Customer.LastName = 'Smith';
